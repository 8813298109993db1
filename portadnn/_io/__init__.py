"""Files, folders and texts from outside, read and written safely."""

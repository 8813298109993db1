"""What the front ends with C names share: declarations from the mapping table, opaque objects, and memory."""

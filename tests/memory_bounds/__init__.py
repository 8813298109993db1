"""Calls on random views of one arena, every byte of which is known before and after."""

"""Programs that use portadnn; installed as ``portadnn.examples``, so that ``portadnn demo`` can run them."""

"""Tables of the facts that migration rules rest on."""

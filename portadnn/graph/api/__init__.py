"""What programs call: graphs, their methods, handles."""

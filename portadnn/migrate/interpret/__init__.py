"""Following a program: values of variables, branches, loops, the program's own functions and classes."""

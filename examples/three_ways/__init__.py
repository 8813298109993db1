"""Three programs, each with cuDNN's, with MIOpen's and with portadnn's own names: the results agree in every bit.

Each module has ``run(backend)``, which returns what it computed as NumPy arrays by name. What they start from is in
``data.py``. All forms of a program ask for the same operations and the same convolution algorithms.
"""

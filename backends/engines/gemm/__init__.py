"""The matrix product that engines share: any sizes, operands turned over or not, added to what is there or not.

It is no engine: `Gemm` (product.py) states one product (or several of one shape) by its operands' places, and gives the
launches for a device.
"""

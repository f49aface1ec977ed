"""Small tools that every room may use: validation, threads, machine constants.

May import: numpy, scipy and scikit-learn's utilities; nothing of the package.
"""

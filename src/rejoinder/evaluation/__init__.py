"""A scorer and a data set in, numbers with their protocol out."""

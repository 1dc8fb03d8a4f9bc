"""Pretrained encoders as a starting point, and their export to ONNX; needs torch."""

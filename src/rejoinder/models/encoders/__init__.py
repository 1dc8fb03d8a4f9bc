"""Pretrained encoders: architectures, tokenizers, export to ONNX, and models that come as ONNX."""

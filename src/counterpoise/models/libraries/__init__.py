"""Adapters of boosting libraries, PyTorch and ONNX."""

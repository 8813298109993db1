"""An executor of AMDGPU ELFs on the CPU: docs/amd-executor.md."""

"""The part of the build that ``pyproject.toml`` cannot say: which kernels are compiled."""

from setuptools import setup

from shoal_build import Build, BuildKernels, kernel_extensions

setup(ext_modules=kernel_extensions(), cmdclass={"build": Build, "build_ext": BuildKernels})

"""Packages that export names without loading the modules behind them before the first use."""

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

__all__ = ["export_lazily"]


class _LazyPackage(ModuleType):
    """A package whose public names are loaded one by one."""

    _lazy_homes: Mapping[str, str] = {}

    def __getattr__(self, name: str) -> object:
        home = self._lazy_homes.get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{self.__name__}.{home}"), name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # Loading a submodule sets it on its package; one that shares its name with an export must not hide it.
        if not (isinstance(value, ModuleType) and name in self._lazy_homes):
            super().__setattr__(name, value)


def export_lazily(package: str, exports: Mapping[str, tuple[str, ...]]) -> None:
    """Make the names importable from the package; each submodule is loaded when one of its names is used.

    Args:
        package: The package's `__name__`.
        exports: Submodule to the names it gives.
    """
    module = sys.modules[package]
    module.__dict__["_lazy_homes"] = {name: home for home, names in exports.items() for name in names}
    module.__class__ = _LazyPackage

"""Packages that export names without loading the modules behind them before the first use."""

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

__all__ = ["export_lazily"]


class _LazyPackage(ModuleType):
    """A package whose public names are loaded one by one."""

    _lazy_homes: Mapping[str, str] = {}
    _renamed: Mapping[str, str] = {}

    def __getattr__(self, name: str) -> object:
        home = self._lazy_homes.get(name)
        if home is None:
            if name in self._renamed:
                return self._by_its_new_name(name)
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{self.__name__}.{home}"), name)
        self.__dict__[name] = value
        return value

    def _by_its_new_name(self, name: str) -> object:
        import warnings  # noqa: PLC0415 - only for an old name

        new = self._renamed[name]
        said = f"{self.__name__}.{name} is called {new} now; the old name goes with the next minor version"
        warnings.warn(said, DeprecationWarning, stacklevel=3)
        return getattr(self, new)

    def __setattr__(self, name: str, value: object) -> None:
        # Loading a submodule sets it on its package; one that shares its name with an export must not hide it.
        if not (isinstance(value, ModuleType) and name in self._lazy_homes):
            super().__setattr__(name, value)


def export_lazily(
    package: str, exports: Mapping[str, tuple[str, ...]], *, renamed: Mapping[str, str] | None = None
) -> None:
    """Make the names importable from the package; each submodule is loaded when one of its names is used.

    Args:
        package: The package's `__name__`.
        exports: Submodule to the names it gives.
        renamed: Old public name to its new one: the old one works for one more minor version, with a warning.
    """
    module = sys.modules[package]
    module.__dict__["_lazy_homes"] = {name: home for home, names in exports.items() for name in names}
    module.__dict__["_renamed"] = dict(renamed or {})
    module.__class__ = _LazyPackage

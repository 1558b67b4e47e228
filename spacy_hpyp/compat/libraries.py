"""Numba's compiler passes, and when code is optimised and made machine code of.

Numba optimises each function by itself, links its callees into it and optimises again. A function that only
compiled code calls needs no machine code of its own: its `Inner` library waits, and is linked once into each
`Entry`, which Python calls. Only that is optimised.
"""

from collections.abc import Iterable
from types import CodeType
from typing import Any

from llvmlite import binding
from numba.core import config, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack

from .memory import collecting_rarely

_ENVIRONMENT = "_ZN08NumbaEnv"
# Numba's passes, without those that look for what no function here has: `with`, prange, literal_unroll,
# functions to inline. Nor are expressions of arrays made one loop.
_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.NoPythonSupportedFeatureValidation,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _NoEngine:
    """Stands for the engine that sets environments, as long as there is no machine code."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class Inner(JITCodeLibrary):
    """Code that waits for being linked."""

    codegen = _NoEngine()  # type: ignore[assignment]

    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise nothing."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Leave the code as it is."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no pointer: Python cannot call it."""
        self._ensure_finalized()
        return 0

    def _get_module_for_linking(self) -> Any:
        """Return the code with its callees, for a library that is no `Entry`."""
        if self._shared_module is None:
            module = self._final_module.clone()
            own = [function.name for function in module.functions if not function.is_declaration]
            for name in own + _link(module, self._linking_libraries, self):
                module.get_function(name).linkage = "linkonce_odr"
            self._shared_module = module
        return self._shared_module


class Entry(JITCodeLibrary):
    """Code that Python calls, with all callees."""

    def finalize(self) -> None:
        """Link, optimise and make machine code."""
        # They must have no names in machine code: LLVM would take one for a function of that name in a
        # library that is linked otherwise, whose arguments it has not changed as it may do here.
        for name in _link(self._final_module, self._linking_libraries, self):
            self._final_module.get_function(name).linkage = "private"
        self._linking_libraries = []
        super().finalize()
        for variable in self._final_module.global_variables:
            environment = (
                lookup_environment(variable.name) if variable.name.startswith(_ENVIRONMENT) else None
            )
            if environment is not None:
                self.codegen.set_env(variable.name, environment)

    def _optimize_final_module(self) -> None:
        """Optimise as Numba does, without unrolling loops: most are short."""
        codegen = self._codegen
        # Numba 0.60 has LLVM's former pass managers.
        if not hasattr(codegen, "_pass_builder"):
            super()._optimize_final_module()
            return
        first, builder = codegen._module_pass_manager(
            opt=codegen._opt_level, loop_vectorize=codegen._loopvect, slp_vectorize=False, cost="cheap"
        )
        first.run(self._final_module, builder)
        tuning = binding.create_pipeline_tuning_options(int(config.OPT))
        tuning.loop_unrolling = False
        tuning.loop_vectorization = bool(config.LOOP_VECTORIZE)
        tuning.slp_vectorization = bool(config.SLP_VECTORIZE)
        builder = binding.create_pass_builder(codegen._tm, tuning)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)


def _link(module: Any, libraries: Iterable[Any], to: Any) -> list[str]:
    """Link libraries and the callees of the `Inner` ones into a module, each once. Returns the names of their
    functions.
    """
    names: list[str] = []
    defined = {function.name for function in module.functions if not function.is_declaration}
    seen, others, ahead = {to}, [], list(libraries)[::-1]
    while ahead:
        library = ahead.pop()
        if library in seen:
            continue
        seen.add(library)
        to._reload_init.update(library._reload_init)
        if isinstance(library, Inner):
            for function in library._final_module.functions:
                if function.name in defined and not function.is_declaration:
                    # Numba writes what makes an error of numbers into each module that raises such a one.
                    function.linkage = "linkonce_odr"
                elif not function.is_declaration:
                    names.append(function.name)
            defined.update(names)
            module.link_in(library._final_module, preserve=True)
            ahead += library._linking_libraries[::-1]
        else:
            others.append(library)
    # Of these only what is called by now is linked.
    for library in others:
        module.link_in(library._get_module_for_linking(), preserve=True)
    return names


def _library(codegen: Any, name: str) -> JITCodeLibrary:
    """Return a library for code that Numba compiles of Python: `Inner` unless Python could call it."""
    flags = ConfigStack.top_or_none()
    return (Inner if flags is not None and flags.no_cpython_wrapper else JITCodeLibrary)(codegen, name)


class _Pipeline(Compiler):
    library: type

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes: those of Numba if there is another function inside."""
        if any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts):
            return super().define_pipelines()
        passes = PassManager("nopython")
        for each in _PASSES:
            passes.add_pass(each, each.name())
        passes.finalize()
        return [passes]

    def compile_extra(self, function: Any) -> Any:
        """Compile a function into a library of this kind."""
        library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        return super().compile_extra(function)


class InnerPipeline(_Pipeline):
    """Compiles functions for compiled code."""

    library = Inner


class EntryPipeline(_Pipeline):
    """Compiles functions for Python."""

    library = Entry

    @collecting_rarely()
    def compile_extra(self, function: Any) -> Any:
        """Compile a function with all callees, one thread at a time."""
        codegen = self.state.targetctx.codegen()
        codegen._library_class = _library
        try:
            return super().compile_extra(function)
        finally:
            del codegen._library_class

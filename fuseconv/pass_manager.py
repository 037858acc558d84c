"""Run a pipeline: a tuple of passes, each with a name, in the order in which they stand.

A pass is a function over a module. It names what it needs by its parameters, which are filled from the fields of the
`Context` of the conversion; what it must find and what it leaves behind are `Fact`s:

    @module_pass("freeze-variables", requires=(NO_TF1_CONTROL_FLOW,), ensures=(READ_ONLY_VARIABLES_ARE_CONSTANTS,))
    def freeze_variables(module: Module, report: Report) -> None:
        '''Turn variables that nothing writes into constants.'''

The manager gives every pass its time and number of changes, prints the IR around it, and verifies what it leaves.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TextIO, TypeAlias

from fuseconv.errors import InputError, is_ours, module_error, suggestion
from fuseconv.ir.graph import Module, Value, count_edits
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.verifier import Fact, MalformedError, check
from fuseconv.report.records import Report

ALL = "all"


@dataclass(frozen=True)
class Pass:
    """A named step of a pipeline. Calling it calls its function.

    function: takes fields of a `Context` by their names, and changes the module in place. It may return whether it
    changed anything; if it returns None, the manager counts the edits of ops.
    requires, ensures: facts that hold before, and after. condition: whether the pass runs at all, asked of the context.
    kinds: of ops without any of which the pass has nothing to do, and is left out; None if it always runs.
    after_changes: the pass is left out where nothing has changed since it last ran. before, after: of a plug-in's pass,
    the name of the one that it stands beside.
    """

    name: str
    function: Callable[..., Any]
    requires: tuple[Fact, ...] = ()
    ensures: tuple[Fact, ...] = ()
    condition: Callable[[Any], bool] | None = None
    kinds: Collection[str] | None = None
    after_changes: bool = False
    before: str = ""
    after: str = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def when(self, condition: Callable[[Any], bool]) -> Pass:
        """Return this pass, to run only where the condition holds of the context."""
        return replace(self, condition=condition)

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        return _parameters(self.function)

    @property
    def summary(self) -> str:
        """Return the first sentence of the function's docstring, in one line."""
        paragraph = (inspect.getdoc(self.function) or "").partition("\n\n")[0]
        return " ".join(paragraph.split()).partition(". ")[0].rstrip(".")


@dataclass(frozen=True)
class RewritePass(Pass):
    """A pass whose function rewrites an op of its kinds: `rewrite(op, out, ...)`, which `rewrite_ops` calls for those
    of every graph. What it names besides comes from the context. revisit: new ops are rewritten in turn."""

    revisit: bool = False

    def __call__(self, *args: Any) -> None:
        given = dict(zip(self.parameters, args, strict=True))
        own = [given[name] for name in _parameters(self.function)[2:]]
        for graph in list(given["module"].graphs()):  # functions may be added
            rewrite_ops(graph, self.kinds or (), lambda op, out: self.function(op, out, *own), self.revisit)

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("module", *_parameters(self.function)[2:])))


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = inspect.unwrap(function).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


@dataclass(frozen=True)
class Repeat:
    """Passes that run at least once, and then until `until` holds of the module, or a round changes nothing; without
    it, until a round in which the first of them changes nothing."""

    passes: Pipeline
    until: Callable[[Module], bool] | None = None


@dataclass(frozen=True)
class Stage:
    """Passes under one name in the progress and in the report's times.

    why: what is recorded of ops of the model that the stage takes away without a record of their own, under `rule`."""

    name: str
    passes: Pipeline
    rule: str = ""
    why: str = ""


@dataclass(frozen=True)
class Deferred:
    """Passes that few conversions run: `PASSES` of a module, which is imported only where the condition holds of the
    context."""

    module: str
    condition: Callable[[Any], bool]

    @property
    def passes(self) -> tuple[Pass, ...]:
        return importlib.import_module(self.module).PASSES

    def spelled_out(self) -> tuple[Pass, ...]:
        """Return the passes as they stand in a pipeline by themselves: each has the condition, besides its own."""
        return tuple(item.when(partial(_both, self.condition, item.condition)) for item in self.passes)


def _both(one: Callable[[Any], bool], other: Callable[[Any], bool] | None, context: Any) -> bool:
    return one(context) and (other is None or other(context))


@dataclass(frozen=True)
class AfterChanges:
    """Passes that are left out, all of them, where nothing has changed since they last ran under this name."""

    name: str
    passes: Pipeline


Pipeline: TypeAlias = tuple["Pass | Repeat | Stage | Deferred | AfterChanges", ...]


def module_pass(
    name: str,
    *,
    requires: tuple[Fact, ...] = (),
    ensures: tuple[Fact, ...] = (),
    kinds: Collection[str] | None = None,
    after_changes: bool = False,
    before: str = "",
    after: str = "",
) -> Callable[[Callable[..., Any]], Pass]:
    """Declare the decorated function as the pass of this name. A converter module says `before` or `after` which pass
    its own is to run; those that come with fuseconv stand in `pipeline.py`. Raises TypeError for what is no
    name or no fact."""
    if not isinstance(name, str):
        raise TypeError("a pass is marked with @module_pass(NAME, before=PASS), and not with @module_pass alone")
    _check_facts(name, requires, ensures)
    return lambda function: Pass(name, function, requires, ensures, None, kinds, after_changes, before, after)


def rewrite_pass(
    name: str,
    kinds: Collection[str],
    *,
    requires: tuple[Fact, ...] = (),
    ensures: tuple[Fact, ...] = (),
    revisit: bool = False,
    before: str = "",
    after: str = "",
) -> Callable[[Callable[..., Sequence[Value] | None]], Pass]:
    """Declare the decorated function as a pass that does nothing but rewrite ops of these kinds, each by itself:

        @rewrite_pass("drop-double-negation", ("tf.Neg",))
        def drop_double_negation(op: Op, out: list[Op]) -> list[Value] | None:
            '''Drop double negations: Neg(Neg(x)) -> x.'''
            x = operand_of(op.operands[0], "tf.Neg")
            return None if x is None else [x]

    What it takes and returns is told at `rewrite_ops`, and the rest at `module_pass`."""
    if not isinstance(name, str) or isinstance(kinds, str) or not all("." in kind for kind in kinds):
        raise TypeError("a pass of one rewrite is marked with @rewrite_pass(NAME, KINDS), such as (\"tf.Neg\",)")
    _check_facts(name, requires, ensures)
    return lambda rewrite: RewritePass(name, rewrite, requires, ensures, None, kinds, False, before, after, revisit)


def _check_facts(name: str, *facts: tuple[Fact, ...]) -> None:
    for fact in itertools.chain(*facts):
        if not isinstance(fact, Fact):
            raise TypeError(f"the pass {name} requires and ensures facts of fuseconv.facts, not {fact!r}")


@dataclass
class Context:
    """What the passes of one conversion work on and are told.

    options: what passes may name as parameters besides the module and the report."""

    module: Module
    report: Report
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Conditions read options as attributes, and what `__getattr__` finds costs an exception each time.
        self.__dict__.update(self.options)

    def arguments(self, names: Iterable[str]) -> list[Any]:
        """Return the values of these fields, options first: a failed attribute lookup costs an exception each time."""
        return [self.options[name] if name in self.options else getattr(self, name) for name in names]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["options"][name]
        except KeyError:
            raise AttributeError(name) from None


def passes_of(pipeline: Pipeline) -> Iterator[Pass]:
    """Yield the passes of a pipeline in order, those of a Repeat or Stage once."""
    for item in pipeline:
        if isinstance(item, Pass):
            yield item
        else:
            yield from passes_of(item.passes)


def insert(pipeline: Pipeline, new: Pass) -> Pipeline:
    """Insert a pass into a pipeline, before the first pass of the name that it says, or behind the last one.

    Raises InputError if the pipeline has no pass of that name, or has one of the new pass's name."""
    name = new.before or new.after
    if any(item.name == new.name for item in passes_of(pipeline)):
        raise InputError(f"there is a pass called {new.name} already; give the plug-in's another name")
    places = sum(item.name == name for item in passes_of(pipeline))
    if not places:
        help = _did_you_mean(name, pipeline)
        raise InputError(f"the pass {new.name} is to stand beside {name}, which is no pass{help}")
    target = 0 if new.before else places - 1
    numbers = itertools.count()

    def rebuilt(items: Pipeline) -> Iterator[Pass | Repeat | Stage | AfterChanges]:
        for item in items:
            if isinstance(item, Deferred):
                yield from rebuilt(item.spelled_out())
            elif not isinstance(item, Pass):
                yield replace(item, passes=tuple(rebuilt(item.passes)))
            elif item.name == name and next(numbers) == target:
                yield from (new, item) if new.before else (item, new)
            else:
                yield item

    return tuple(rebuilt(pipeline))


def pass_rows(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Return `{"name", "summary", "requires", "ensures", "module"}` of each pass of a pipeline, in order.

    A pass that stands at several places is listed at each. `requires` and `ensures` are names of facts."""
    return [
        {
            "name": item.name,
            "summary": item.summary,
            "requires": [fact.name for fact in item.requires],
            "ensures": [fact.name for fact in item.ensures],
            "module": item.function.__module__,
        }
        for item in passes_of(pipeline)
    ]


class PassManager:
    """Run pipelines over the module of one context.

    verify_each: check the IR after every pass, and the facts that passes require and ensure (slow; on in tests).
    print_before, print_after: names of passes, or "all", around which the module is printed to `stream`.
    progress: called with the name of each stage as it starts."""

    verify_each = False

    def __init__(
        self,
        context: Context,
        *,
        verify_each: bool | None = None,
        print_before: Sequence[str] = (),
        print_after: Sequence[str] = (),
        stream: TextIO | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.context = context
        if verify_each is not None:
            self.verify_each = verify_each
        self.print_before, self.print_after, self.stream = frozenset(print_before), frozenset(print_after), stream
        self.progress = progress
        # How often the module was changed in all, and how often it had been when each pass or `AfterChanges` last ran.
        self._changes = 1
        self._changes_at: dict[str, int] = {}
        # The kinds of the module's ops, and how often any op had been edited when they were looked up.
        self._kinds_at: tuple[int, frozenset[str]] = -1, frozenset()

    def run(self, pipeline: Pipeline) -> bool:
        """Run a pipeline; return whether its first pass changed anything."""
        first: bool | None = None
        for item in pipeline:
            if isinstance(item, Pass):
                changed = self._run_pass(item)
            elif isinstance(item, Repeat):
                changed, before = self.run(item.passes), -1
                while changed if item.until is None else not item.until(self.context.module):
                    if self._changes == before:
                        break  # so would all further rounds leave it
                    before = self._changes
                    changed = self.run(item.passes)
            elif isinstance(item, Deferred):
                changed = item.condition(self.context) and self.run(item.passes)
            elif isinstance(item, AfterChanges):
                changed = self._changes_at.get(item.name) != self._changes and self.run(item.passes)
                self._changes_at[item.name] = self._changes
            else:
                changed = self._run_stage(item)
            first = changed if first is None else first
        return bool(first)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Tell the progress of a stage, and add the time that the block takes to the report's."""
        if self.progress:
            self.progress(name)
        with self.context.report.stage(name):
            yield

    def _run_stage(self, stage: Stage) -> bool:
        """Run the passes of a stage, which is not mentioned if none of them is to run."""
        if all(map(self._is_left_out, stage.passes)):
            return False
        report = self.context.report
        with self.stage(stage.name):
            if not stage.why:
                return self.run(stage.passes)
            with report.rewriting(self.context.module, stage.rule, stage.why):
                return self.run(stage.passes)

    def _is_left_out(self, item: Pass | Repeat | Stage | Deferred | AfterChanges) -> bool:
        """Return whether the condition of an item of a pipeline leaves it out."""
        condition = item.condition if isinstance(item, (Pass, Deferred)) else None
        return condition is not None and not condition(self.context)

    def _run_pass(self, item: Pass) -> bool:
        """Run a pass, unless its condition, its kinds or `after_changes` leave it out; return whether it changed
        anything. Its time and edits go to the report."""
        if item.condition is not None and not item.condition(self.context):
            return False
        if item.kinds is not None and self._kinds().isdisjoint(item.kinds):
            return False
        if item.after_changes and self._changes_at.get(item.name) == self._changes:
            return False
        if self.verify_each:
            self._check(item.requires, f"{item.name} requires")
        if self.print_before:
            self._print("before", item, self.print_before)
        edits, start = count_edits(), time.perf_counter()
        said = self._call(item)
        seconds, edits = time.perf_counter() - start, count_edits() - edits
        changed = edits > 0 if said is None else bool(said)
        self._changes += changed
        self._changes_at[item.name] = self._changes
        self.context.report.ran(item.name, seconds, max(edits, 1) if changed else 0)
        if self.print_after:
            self._print("after", item, self.print_after)
        if self.verify_each:
            try:
                check(self.context.module)
            except MalformedError as error:
                raise MalformedError(f"behind the pass {item.name}: {error}") from error
            self._check(item.ensures, f"{item.name} ensures")
        return changed

    def _kinds(self) -> frozenset[str]:
        """Return the kinds of the module's ops, and perhaps of some that were taken out since one was edited."""
        edits = count_edits()
        if self._kinds_at[0] != edits:
            self._kinds_at = edits, frozenset().union(*[graph.kinds for graph in self.context.module.graphs()])
        return self._kinds_at[1]

    def _call(self, item: Pass) -> Any:
        """Call the function of a pass on what it asks for. Raises InputError if a plug-in's asks for what there is not,
        raises, or leaves a module that is none."""
        try:
            arguments = self.context.arguments(item.parameters)
        except AttributeError as error:
            help = suggestion(f"{error}", ["module", "report", *self.context.options])
            why = f"asks for {error}, which passes are not given{help}"
            raise _wrong(item, why) from error
        if is_ours(item.function):
            return item(*arguments)
        try:
            said = item(*arguments)
            check(self.context.module)
        except MalformedError as error:
            raise _wrong(item, f"leaves a module that is none: {error}") from error
        except Exception as error:
            # A module's function is the user's code and may raise anything.
            raise _wrong(item, error) from error
        return said

    def _check(self, facts: tuple[Fact, ...], who: str) -> None:
        for fact in facts:
            violation = fact.violation(self.context.module)
            if violation:
                raise MalformedError(f"{who} {fact.name}, but {violation}")

    def _print(self, when: str, item: Pass, names: frozenset[str]) -> None:
        if names & {item.name, ALL} and self.stream is not None:
            from fuseconv.ir.text import print_module  # a conversion that is looked into

            self.stream.write(f"// IR {when} {item.name}\n{print_module(self.context.module, elide=16)}\n")


def _wrong(item: Pass, error: Exception | str) -> Exception:
    return module_error(f"the pass {item.name}", item.function, error)


def check_names(names: Sequence[str], pipeline: Pipeline) -> None:
    """Raise InputError for a name that is no pass of the pipeline, nor "all"."""
    known = {item.name for item in passes_of(pipeline)} | {ALL} if names else {ALL}
    for name in names:
        if name not in known:
            raise InputError(f"no pass is called {name}{_did_you_mean(name, pipeline)}; `fuseconv passes` lists them")


def _did_you_mean(name: str, pipeline: Pipeline) -> str:
    return suggestion(name, [item.name for item in passes_of(pipeline)])

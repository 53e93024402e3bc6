"""Shell calls: what the analysis of the command says, in the terms of the decision.

Every file a command names goes through the path rules like any other read or write; what the text does not tell is
never taken for harmless where a deny rule could be meant.
"""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from holdfast.permissions.classifier import Risk
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.facts import CallFacts, ShellPart, ShellVerdict, Sight
from holdfast.permissions.matching import grant_of
from holdfast.permissions.modes import guard_of_write, row_of_read, row_of_write
from holdfast.permissions.paths import NULL_DEVICE, LiveDisk, PathFacts, is_inside
from holdfast.permissions.rules.command_index import RuleIndex
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.shell.judge.coverage import (
    Hit,
    allowed,
    ask_matches,
    deny_matches,
    possible_match,
    unnamed_readers,
)
from holdfast.permissions.shell.judge.file_commands import only_edits
from holdfast.permissions.shell.judge.powershell import judge_powershell
from holdfast.permissions.shell.judge.rule_words import is_too_wide_command
from holdfast.permissions.shell.programs.facts import opens_for_reading
from holdfast.permissions.shell.programs.operands import (
    changes_untold,
    deep_changes,
    inside,
    landing_of,
    spares,
    written_patterns,
)
from holdfast.permissions.shell.reach.directories import links_behind, links_out_of, rule_below, rule_inside
from holdfast.permissions.shell.reach.git_index import removes_tracked
from holdfast.permissions.shell.reach.git_tracked import named_by_git, tracked_rule
from holdfast.permissions.shell.reach.known_here import with_facts
from holdfast.permissions.shell.reach.read_names import ReadNames
from holdfast.permissions.shell.reach.searches import FOLLOWERS, follows, reaches
from holdfast.permissions.shell.reach.written_forms import through_links, written_forms
from holdfast.permissions.shell.risk.classes import high_risk
from holdfast.permissions.shell.risk.outward import only_looks, writes_scratch
from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import Analysis, analyse
from holdfast.permissions.shell.words.expansion import dynamic_words, patterns_of, placed
from holdfast.permissions.shell.words.parts import Part, Redirect

if TYPE_CHECKING:
    from holdfast.contract import Effects


TEMPORARY: Final = ("/tmp", "/var/tmp", NULL_DEVICE)  # noqa: S108 - where programs keep what nobody needs later
_UNHELD: Final = (None, None, "", False)
_NOTHING: Final = Sight()


def judge_shell(call: CallFacts, context: "PermissionContext") -> ShellVerdict:
    """Analyse the command of a call and hold it against the rules."""
    if call.tool == "PowerShell":
        return judge_powershell(call, context)
    # The analysis brings a parser and its tables: nothing of it is loaded before the first command.
    analysis = analyse(call.subject.value, cwd=call.cwd)
    if not analysis.read_only and isinstance(context.disk, LiveDisk):
        analysis = with_facts(analysis, call.cwd)
    seen = _Seen(call, context, analysis)
    denied, asked, doubt, doubts_files = seen.held() if context.book.holds_back else _UNHELD
    allowed, left_open = seen.granted()
    read_only = analysis.read_only
    return ShellVerdict(
        read_only,
        denied,
        asked,
        allowed,
        "" if read_only else critical_removal(analysis, cwd=call.cwd) or "",
        doubt,
        doubts_files,
        not read_only and seen.is_file_command(),
        seen.risk,
        seen.sight,
        seen.unlisted_reads(),
        seen.shown,
        left_open,
        seen.only_looks(),
    )


def only_reads(call: CallFacts) -> bool:
    """Whether the command of a call is proven to change nothing; the analysis is remembered."""
    if call.tool == "PowerShell":
        return False
    return analyse(call.subject.value, cwd=call.cwd).read_only


def is_judged_by_words(tool: str, command: str, effects: "Effects", *, cwd: str) -> bool:
    """Whether neither a file nor the user's home has a say: the command only reads, and nothing that has a name."""
    if effects.reads or effects.writes or effects.network or not effects.known:
        return False
    if tool == "PowerShell" or "~" in command:
        return False
    # What the tool says of itself is not enough: the decision goes by the text.
    analysis = analyse(command, cwd=cwd)
    return analysis.read_only and not analysis.effects.touches


class _Seen:
    """One command under one context."""

    def __init__(self, call: CallFacts, context: "PermissionContext", analysis: "Analysis") -> None:
        self._call = call
        self._context = context
        self._analysis = analysis
        # In `auto` mode rules that leave open what is run do not count.
        too_wide = is_too_wide_command if context.effective_mode == "auto" else None
        self._allow: RuleIndex = context.book.shell_index("allow", "Bash", too_wide)
        self._known: dict[str, PathFacts] = {}
        self._links: dict[tuple[str, str], list[str]] = {}
        self._edit_rule: Rule | None = None
        self._live = isinstance(context.disk, LiveDisk)
        self._read_names = ReadNames(analysis, context, call.cwd)
        self._forms = written_forms(analysis, context, call.cwd)
        held = context.book.holds_reads or context.book.holds_edits
        untold = held and not (analysis.read_only and self._read_names.all_named)
        self.sight = self._look() if analysis.effects.touches or untold or self._forms.writes else _NOTHING

    def _look(self) -> Sight:
        analysis = self._analysis
        reads = dict.fromkeys(analysis.effects.reads)
        reads.update(dict.fromkeys(path for part in analysis.parts for path in self._opened_by(part)))
        samples = self._looked(self._read_names.samples())
        if analysis.read_only:
            return Sight(self._looked(reads), (), samples)
        writes = dict.fromkeys(analysis.effects.writes)
        writes.update(dict.fromkeys(path for part in self._forms.parts for path in self._writes_of(part)))
        return Sight(self._looked(reads), self._looked(writes), samples, changed=self._looked(self._changed()))

    def _looked(self, paths: Iterable[str]) -> tuple[PathFacts, ...]:
        """What the disk says; each path is looked at once, and where links lead that the text itself makes."""
        known = self._known
        if self._forms.links:
            paths = through_links(paths, self._forms.links, self._call.cwd)
        found: list[PathFacts] = []
        for path in paths:
            facts = known.get(path)
            if facts is None:
                facts = known[path] = self._context.disk.look(path, self._call.cwd, home=self._context.home)
            found.append(facts)
        return tuple(found)

    def _writes_of(self, part: "Part") -> Iterator[str]:
        """What a command writes; a copy into a directory is a file in it."""
        yield from placed(part.writes, part.cwds)
        for source, place in landing_of(part):
            known = place.endswith("/") or place.rpartition("/")[2] in (".", "..")
            for path in placed((place,), part.cwds):
                spots = self._looked((path,))
                if known or any(spot.is_dir or (spot.is_dir is None and not self._live) for spot in spots):
                    yield f"{path.rstrip('/')}/{os.path.basename(source.rstrip('/'))}"

    def _changed(self) -> Iterator[str]:
        """Names of what the commands may change without naming it."""
        for part in self._forms.parts:
            if part.refusal is not None:
                yield from placed(map(inside, deep_changes(part)), part.cwds)
                yield from placed(written_patterns(part), part.cwds)

    def _reads_of(self, part: "Part") -> Iterator[str]:
        yield from placed(part.reads, part.cwds)
        yield from self._opened_by(part)

    def _opened_by(self, part: "Part") -> Iterator[str]:
        """What a command reads besides what it is given by name."""
        if part.name == "git" and self._live and self._context.book.read_names:
            for directory in part.cwds or ("",):
                yield from named_by_git(part, os.path.join(self._call.cwd, directory).rstrip("/"))
        if part.name in FOLLOWERS and self._live:
            yield from self._followed(part)
        if part.reads_unknown:
            yield from placed((place for told in dynamic_words(part) for place in told.directories), part.cwds)
            if self._live:
                yield from self._linked(part)

    def _linked(self, part: "Part") -> Iterator[str]:
        """Links among what the patterns of a command match; a directory too large to say counts as the root."""
        for pattern in patterns_of(part):
            for directory in part.cwds or ("",):
                start = os.path.join(self._call.cwd, directory)
                found = self._links.get((pattern, start))
                if found is None:
                    listed = links_behind(pattern, start)
                    found = self._links[(pattern, start)] = ["/"] if listed is None else listed
                yield from found

    def _followed(self, part: "Part") -> Iterator[str]:
        """Links by which a search leaves the directories it goes through; too much to say counts as the root."""
        reach = reaches(self._analysis, part) if follows(part) else None
        if reach is None:
            return
        for place in self._looked(placed(reach.directories, part.cwds)):
            if place.is_dir is not False:
                key = ("\0".join(("", *reach.passed_over)), place.target)
                found = self._links.get(key)
                if found is None:
                    listed = links_out_of(place.target, reach.passed_over)
                    found = self._links[key] = ["/"] if listed is None else listed
                yield from found

    def _redirected(self, kind: str, redirects: "Iterable[Redirect]") -> Iterator[str]:
        for redirect in redirects:
            fits = redirect.kind == kind or (kind == "read" and opens_for_reading(redirect))
            if fits and redirect.target is not None and not redirect.harmless_write:
                yield from placed((redirect.target.text,), redirect.cwds)

    def held(self) -> "tuple[Rule | None, Rule | None, str, bool]":
        """The deny and the ask rule for some part, why a rule might be meant unseen, and if only one for files is."""
        book, analysis = self._context.book, self._analysis
        deny, ask = (book.shell_index(behavior, "Bash") for behavior in ("deny", "ask"))
        denied, asked = deny_matches(deny, analysis), ask_matches(ask, analysis)
        doubt = ""
        if analysis.doubt and book.holds_back:
            doubt = f"{analysis.doubt}, so a deny or ask rule may be meant"
        possible = None if analysis.read_only else possible_match(deny, analysis) or possible_match(ask, analysis)
        if possible is not None:
            doubt = doubt or f"{possible.text!r} may become what the rule Bash({possible.rule.content}) is about"
        about_files = not doubt and "git" not in analysis.names  # git shows files from its own store as well
        if not doubt and (book.holds_reads or book.holds_edits):
            doubt = self._read_names.doubt(self.sight)
        if not doubt and book.read_names:
            doubt = self._reaches_held()
        if not doubt and book.holds_edits:
            doubt = self._changes_held()
        return _rule(denied), _rule(asked), doubt, about_files and bool(doubt)

    def _reaches_held(self) -> str:
        """Why a Read rule may be meant by a command that opens files it does not name; empty when none is."""
        for part in self._analysis.parts:
            if part.name == "git" and self._live and (held := self._prints_held(part)):
                return held
            reach = reaches(self._analysis, part)
            if reach is None:
                continue
            places = self._looked(placed(reach.directories, part.cwds))
            followed = self._looked(self._followed(part)) if self._live else ()
            opened = [path.target for path in (*places, *followed) if path.is_dir is not False]
            found = rule_below(reach, opened, self._context, self._call.cwd)
            if found is not None:
                rule, seen = found
                why = "is about one of them" if seen else "may be about one of them"
                return f"{part.name} opens every file below a directory, and the rule {rule.text} {why}"
        return ""

    def _changes_held(self) -> str:
        """Why an Edit rule may be meant by a command that changes files it does not name; empty when none is."""
        adrift = _drifts(self._analysis)
        for redirect in self._analysis.redirects:
            untold = redirect.target is not None and (not redirect.target.static or (adrift and redirect.cwds is None))
            if untold and redirect.kind == "write" and not redirect.harmless_write:
                return f"which file {redirect.text} writes is not known, and rules are about some"
        if self._forms.untold:
            return f"{self._forms.untold}, and rules are about some"
        for part in self._forms.parts:
            if spares(part, self._context.book.edit_names):
                continue
            if changes_untold(part) or (adrift and part.cwds is None and part.writes):
                return f"{part.name} changes files the text does not tell, and rules are about some"
            places = self._looked(placed(deep_changes(part), part.cwds))
            opened = [path.target for path in places if path.is_dir is not False]
            found = rule_inside(opened, self._context, self._call.cwd) if opened else None
            if found is not None:
                return f"{part.name} changes everything in a directory, and the rule {found.text} is about some of it"
        return ""

    def _prints_held(self, part: "Part") -> str:
        """Why a Read rule may be meant by a git command that prints tracked files; empty when none is."""
        for directory in part.cwds or ("",):
            place = os.path.realpath(os.path.join(self._call.cwd, directory))
            found = tracked_rule(part, place, self._context, self._call.cwd)
            if found is not None:
                rule, name = found
                return f"git may print {name!r}, which the rule {rule.text} is about"
        return ""

    def granted(self) -> "tuple[Rule | None, tuple[str, ...]]":
        """The rule that covers the whole command, or what the rules leave open."""
        if not self._allow.rules and not self._analysis.redirects:
            return None, ()
        if self._analysis.read_only:
            covered = self._allow.find(self._analysis.parts[0].exact) if len(self._analysis.parts) == 1 else None
            return (None if covered is None else _origin(covered.origin)), ()
        coverage = allowed(
            self._allow,
            self._analysis,
            edit_allowed=self._edit_allowed,
            inside=self._inside,
            guarded=self._context.book.holds_back,
        )
        if not coverage.allowed:
            return None, coverage.open if self._allow.rules else ()
        return (_origin(coverage.rules[0].origin) if coverage.rules else self._edit_rule), ()

    def _edit_allowed(self, redirect: "Redirect") -> bool:
        if redirect.target is None or redirect.cwds is None:
            return False
        for path in self._looked(placed((redirect.target.text,), redirect.cwds)):
            rule = grant_of("Edit", path, self._call, self._context)
            if rule is None or guard_of_write(path, self._context):
                return False
            self._edit_rule = rule
        return True

    def _inside(self, directory: str) -> bool:
        working = self._context.roots.working
        places = self._looked((directory or ".",))
        return all(is_inside(path.target, working) or self._is_granted(path.given) for path in places)

    def _is_granted(self, directory: str) -> bool:
        """Whether Edit rules open all of a directory outside, whatever is in it: who may change it may go there."""
        if not self._context.book.paths:
            return False
        probes = self._looked((f"{directory}/any name", f"{directory}/any name/at all"))
        return all(grant_of("Edit", path, self._call, self._context) is not None for path in probes)

    def is_file_command(self) -> bool:
        """Whether it does no more than an edit of ordinary files inside the working directories."""
        edits = self.sight.writes or self._context.effective_mode == "acceptEdits"
        if self._analysis.doubt or self._analysis.assigned or not edits:
            return False
        redirected = self._looked(self._redirected("write", self._analysis.redirects))
        return only_edits(self._analysis, self.sight, self._context, redirected, self._call.cwd)

    def only_looks(self) -> bool:
        """Whether it most likely only looks, although nothing proves it: a question in plan mode, not a no."""
        if self._context.effective_mode != "plan" or self._analysis.read_only:
            return False
        return only_looks(self._analysis)

    def unlisted_reads(self) -> tuple[PathFacts, ...]:
        """Reads outside by parts that no allow rule names: the path layer's question."""
        if not self._analysis.effects.touches:
            return ()
        readers = unnamed_readers(self._allow, self._analysis)
        found = dict.fromkeys(path for part in readers for path in self._reads_of(part))
        found.update(dict.fromkeys(self._redirected("read", self._analysis.redirects)))
        return tuple(path for path in self._looked(found) if row_of_read(path, self._context) != "free")

    def risk(self) -> Risk:
        """The word of our own classifier."""
        reason = high_risk(self._analysis, cwd=self._call.cwd)
        if reason is None and self._live and removes_tracked(self._forms.parts, self._call.cwd):
            reason = "tracked-tree: removes files that are under version control"
        scratch = () if reason else self._scratch()
        written = () if reason else (path for path in (*self.sight.writes, *self.sight.changed) if path not in scratch)
        if any(row_of_write(path, self._context) != "edit inside" for path in written):
            reason = "it writes outside the working directories or to a protected path"
        return Risk("low", "it does nothing that counts as high risk") if reason is None else Risk("high", reason)

    def _scratch(self) -> tuple[PathFacts, ...]:
        """What redirects and `tee` write among temporary files: plain files, under their own names."""
        told = [path for part in self._forms.parts if writes_scratch(part) for path in self._writes_of(part)]
        found = self._looked((*told, *self._redirected("write", self._analysis.redirects)))
        return tuple(path for path in found if path.given == path.target and is_inside(path.target, TEMPORARY))

    def shown(self) -> tuple[ShellPart, ...]:
        """Every simple command, for people."""
        return tuple(ShellPart(part.text, part.refusal is None, part.refusal or "") for part in self._analysis.parts)


def _drifts(analysis: "Analysis") -> bool:
    """Whether an unknown directory means another one; the body of a function runs where it is called."""
    return bool(analysis.cd_targets) or any(part.cwds is None and part.parent >= 0 for part in analysis.parts)


def _rule(hit: "Hit | None") -> "Rule | None":
    return None if hit is None else _origin(hit.rule.origin)


def _origin(origin: object) -> "Rule":
    assert isinstance(origin, Rule)
    return origin

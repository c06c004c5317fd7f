"""The pictures of a report. Each also stands in the page as a table or in words.

Colour is never the only signal: outcomes have their own hatches and are named in the legend.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from jobs.report.facts import Coverage, PartitionState, PastAudit, Timeline
from jobs.report.svg import PALETTE, figure, inline_svg, styled
from jobs.report.visible import visible

WIDTH = 8.0
LONGEST_LABEL = 34
# Of findings by topic: few topics do not fill the width, and short names stand straight.
FEWEST_COLUMNS = 5
STRAIGHT_LETTERS = 70
HATCHES = {"commit": "", "abort": "//", "open": "..", "hanging": "xx"}
OUTCOMES = {
    "commit": "committed",
    "abort": "aborted",
    "open": "open",
    "hanging": "hanging",
}
STATUSES = {
    "audited": ("commit", ""),
    "digest_only": ("quiet", ".."),
    "skipped": ("abort", "//"),
    "failed": ("hanging", "xx"),
}
THOUSANDS = StrMethodFormatter("{x:,.0f}")


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """A name short enough for an axis: its middle gives way."""
    shown = visible(text)
    if len(shown) <= longest:
        return shown
    half = longest // 2 - 1
    return f"{shown[:half]}…{shown[-half:]}"


def _axes(height: float, left: float = 0.3, bottom: float = 0.55, top: float = 0.1) -> Axes:
    """Axes in a figure `height` inches high; margins: `left` as a share, others in inches."""
    drawn = figure(WIDTH, height)
    room = (left, bottom / height, 0.97 - left, 1 - (bottom + top) / height)
    return drawn.add_axes(room, facecolor="none")


def _of(axes: Axes) -> Figure:
    whole = axes.get_figure(root=True)
    assert whole is not None
    return whole


def _whole_numbers(axes: Axes) -> None:
    axes.xaxis.set_major_formatter(THOUSANDS)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))


def _names_on_the_left(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _bars(axes: Axes, rows: Sequence[int], left: Sequence[float], width: Sequence[float],
          colour: str, hatch: str) -> None:  # fmt: skip
    axes.barh(rows, width, left=left, height=0.62, color="none" if hatch else PALETTE[colour],
              edgecolor=PALETTE[colour], hatch=hatch, linewidth=1.2)  # fmt: skip


def _legend(axes: Axes, kinds: Iterable[tuple[str, str, str]]) -> None:
    handles = [
        Patch(
            facecolor="none" if hatch else PALETTE[colour],
            edgecolor=PALETTE[colour],
            hatch=hatch,
            label=name,
        )
        for name, colour, hatch in kinds
    ]
    if handles:
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5,
                    borderaxespad=0.2, handlelength=2.2, columnspacing=1.4)  # fmt: skip


def timeline(drawn: Timeline, number: int) -> str:
    """Transactions of a partition along its offsets, a row a producer, with the LSO as a line."""
    state = drawn.state
    producers = list(dict.fromkeys(t.producer_id for t in drawn.transactions))
    rows = {producer: row for row, producer in enumerate(producers)}
    with styled():
        axes = _axes(1.3 + 0.34 * max(1, len(producers)), left=0.2, bottom=0.6, top=0.4)
        for outcome in OUTCOMES:
            mine = [t for t in drawn.transactions if t.outcome == outcome]
            ends = [
                state.log_end_offset if t.marker_offset is None else t.marker_offset + 1
                for t in mine
            ]
            _bars(
                axes,
                [rows[t.producer_id] for t in mine],
                [t.first_offset for t in mine],
                [end - t.first_offset for t, end in zip(mine, ends, strict=True)],
                outcome,
                HATCHES[outcome],
            )
        _show_around(axes, drawn)
        _names_on_the_left(axes, [f"producer {producer}" for producer in producers])
        _whole_numbers(axes)
        seen = {t.outcome for t in drawn.transactions}
        _legend(axes, [(OUTCOMES[o], o, HATCHES[o]) for o in OUTCOMES if o in seen])
        kinds = Counter(t.outcome for t in drawn.transactions)
        counted = ", ".join(f"{kinds[o]} {OUTCOMES[o]}" for o in OUTCOMES if kinds[o])
        return inline_svg(
            _of(axes),
            f"timeline-{number}",
            f"Transactions of {visible(state.name)} along its offsets",
            f"{counted}; the last stable offset is {state.last_stable_offset:,}, "
            f"the log end offset {state.log_end_offset:,}.",
        )


def _show_around(axes: Axes, drawn: Timeline) -> None:
    """Cuts the offsets to those of the shown transactions; says where the LSO lies."""
    ends = [t.first_offset if t.marker_offset is None else t.marker_offset
            for t in drawn.transactions]  # fmt: skip
    first = min(t.first_offset for t in drawn.transactions)
    margin = max(2.0, 0.06 * (max(ends) - first))
    left, right = first - margin, max(ends) + 2 * margin
    axes.set_xlim(left, right)
    lso = drawn.state.last_stable_offset
    words = f"last stable offset {lso:,}"
    if left <= lso <= right:
        axes.axvline(lso, color=PALETTE["ink"], linewidth=2, linestyle="--")
    else:
        words = f"← {words}" if lso < left else f"{words} →"
    place = (min(max(lso, left), right) - left) / (right - left)
    side = "left" if place < 0.2 else "right" if place > 0.8 else "center"
    axes.annotate(words, (place, 0), xycoords="axes fraction", xytext=(0, -32),
                  textcoords="offset points", ha=side, annotation_clip=False)  # fmt: skip


def lag(states: Sequence[PartitionState]) -> str:
    """Offsets that read_committed consumers wait for, a bar a partition."""
    with styled():
        axes = _axes(0.8 + 0.3 * len(states), left=0.36)
        _bars(axes, range(len(states)), [0.0] * len(states), [s.lag for s in states], "open", "")
        for row, state in enumerate(states):
            axes.annotate(
                f"{state.lag:,}", (state.lag, row), va="center",
                xytext=(4, 0), textcoords="offset points",
            )  # fmt: skip
        _names_on_the_left(axes, [state.name for state in states])
        axes.margins(x=0.14)
        axes.set_xlim(left=0)
        _whole_numbers(axes)
        axes.set_xlabel("offsets between last stable offset and high watermark")
        most = states[0]
        return inline_svg(
            _of(axes),
            "lag",
            "Last stable offset lag by partition",
            f"{len(states)} partitions; the largest lag is {most.lag:,}, {visible(most.name)}.",
        )


def findings_by_topic(families: Sequence[str], topics: Sequence[str],
                      numbers: dict[tuple[str, str], int]) -> str:  # fmt: skip
    """Findings by family (rows) and topic (columns): the darker, the more."""
    columns = max(len(topics), FEWEST_COLUMNS)
    shortened = [label(name, max(14, 80 // columns)) for name in topics]
    slanted = max(map(len, shortened), default=0) * columns > STRAIGHT_LETTERS
    top = 1.0 if slanted else 0.35
    with styled():
        axes = _axes(0.1 + top + 0.36 * len(families), left=0.16, bottom=0.1, top=top)
        largest = max(numbers.values(), default=1)
        for row, family in enumerate(families):
            for column, topic in enumerate(topics):
                number = numbers.get((family, topic), 0)
                # No darker, so that the number can be read on it.
                strength = 0.0 if not number else 0.15 + 0.35 * number / largest
                axes.barh(row, 0.94, left=column - 0.47, height=0.88, color=PALETTE["mark"],
                          alpha=strength, linewidth=0)  # fmt: skip
                axes.annotate(f"{number:,}" if number else "·", (column, row), ha="center",
                              va="center")  # fmt: skip
        _names_on_the_left(axes, families)
        axes.set_xlim(-0.5, columns - 0.5)
        axes.xaxis.set_ticks_position("top")
        slant: dict[str, Any] = {"rotation": 20, "ha": "left"} if slanted else {}
        axes.set_xticks(range(len(topics)), shortened, **slant)
        axes.tick_params(axis="x", length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        return inline_svg(
            _of(axes),
            "by-topic",
            "Findings by family of checks and topic",
            f"{len(families)} families, {len(topics)} topics; the table below has the numbers.",
        )


def coverage(rows: Sequence[Coverage]) -> str:
    """A strip a broker: share of its bytes by what became of them."""
    brokers = sorted({row.broker for row in rows}, key=lambda b: (b is None, b or 0))
    whole = {broker: sum(r.bytes for r in rows if r.broker == broker) or 1 for broker in brokers}
    start = dict.fromkeys(brokers, 0.0)
    with styled():
        axes = _axes(1.3 + 0.36 * len(brokers), left=0.2, bottom=0.55, top=0.4)
        for status, (colour, hatch) in STATUSES.items():
            for number, broker in enumerate(brokers):
                share = sum(
                    100 * row.bytes / whole[broker]
                    for row in rows
                    if (row.broker, row.status) == (broker, status)
                )
                if share:
                    _bars(axes, [number], [start[broker]], [share], colour, hatch)
                start[broker] += share
        _names_on_the_left(
            axes, ["broker unknown" if b is None else f"broker {b}" for b in brokers]
        )
        axes.set_xlim(0, 100)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f} %"))
        seen = {row.status for row in rows}
        _legend(axes, [(s.replace("_", " "), *look) for s, look in STATUSES.items() if s in seen])
        return inline_svg(
            _of(axes),
            "coverage",
            "Bytes of the dump by what became of them, by broker",
            "The table below has the numbers.",
        )


def trend(history: Sequence[PastAudit]) -> str:
    """Findings, and age of the oldest open transaction, over the audits of a folder."""
    order = [past.audit_number for past in history]
    with styled():
        drawn = figure(WIDTH, 4.2)
        above = drawn.add_axes((0.1, 0.56, 0.87, 0.36), facecolor="none")
        below = drawn.add_axes((0.1, 0.12, 0.87, 0.3), facecolor="none", sharex=above)
        for name, colour, marker, line in (
            ("violations", "hanging", "o", "-"),
            ("suspects", "abort", "s", "--"),
        ):
            above.plot(order, [getattr(past, name) for past in history], color=PALETTE[colour],
                       marker=marker, linestyle=line, label=name)  # fmt: skip
        above.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0.2)
        above.set_ylim(bottom=0)
        above.yaxis.set_major_formatter(THOUSANDS)
        above.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
        above.tick_params(labelbottom=False)
        ages = [age_minutes(past) for past in history]
        below.plot(order, [age if age is not None else float("nan") for age in ages],
                   color=PALETTE["open"], marker="D")  # fmt: skip
        below.set_ylim(bottom=0)
        below.set_title("oldest open transaction, minutes", loc="left", fontsize=11)
        below.yaxis.set_major_locator(MaxNLocator(nbins=4))
        below.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        below.set_xlabel("audit")
        return inline_svg(
            drawn,
            "trend",
            "Findings and age of the oldest open transaction over the audits",
            f"{len(history)} audits; the table below has the numbers.",
        )


def age_minutes(past: PastAudit) -> float | None:
    """Age of the oldest open transaction when the audit's dump was taken, minutes."""
    if past.oldest_open_since_ms is None or past.as_of_ms is None:
        return None
    return max(0.0, (past.as_of_ms - past.oldest_open_since_ms) / 60_000)

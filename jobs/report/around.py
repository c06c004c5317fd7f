"""The picture of what happened around an incident: a row a kind of event, along the time."""

from matplotlib.ticker import FuncFormatter, MaxNLocator

from jobs.model.moment import moment
from jobs.report.facts import Event, Incident
from jobs.report.pictures import WIDTH
from jobs.report.svg import PALETTE, figure, inline_svg, styled

# Row -> events in it, each with its mark and colour; shape and row tell as much as colour.
ROWS: dict[str, dict[str, tuple[str, str]]] = {
    "affected": {
        "first_affected": (">", "hanging"),
        "last_affected": ("<", "hanging"),
    },
    "coordinator": {
        "prepare_commit": ("|", "commit"),
        "complete_commit": ("o", "commit"),
        "prepare_abort": ("|", "abort"),
        "complete_abort": ("x", "abort"),
    },
    "producers": {"producer_started": ("^", "mark")},
    "leaders": {
        "leader_elected": ("D", "mark"),
        "leader_elected_uncleanly": ("*", "hanging"),
        "no_leader": ("x", "hanging"),
    },
    "brokers": {
        "broker_registered": ("^", "mark"),
        "broker_unfenced": ("o", "commit"),
        "broker_fenced": ("x", "hanging"),
        "broker_stopping": ("v", "open"),
    },
    "reads": {"read_by_group": ("s", "open")},
}
MARKS = {event: look for events in ROWS.values() for event, look in events.items()}
ROW_OF = {event: name for name, events in ROWS.items() for event in events}
# Room for the axis, inches.
BELOW = 0.55
# Farther apart than any log is long: a client's clock that is wrong must not hide the rest.
LONGEST_MS = 10 * 365 * 24 * 3_600_000


def around_incident(told: Incident) -> str:
    """Events along the time, seconds from the first; the table beside it has their places."""
    known = _drawn(told.events)
    start = min((one.at_ms for one in known), default=0)
    seen = {one.event for one in known}
    rows = [name for name, events in ROWS.items() if seen & set(events)]
    top = 0.15 + 0.24 * ((len(seen) + 3) // 4)
    height = BELOW + top + 0.36 * max(len(rows), 1)
    with styled():
        drawn = figure(WIDTH, height)
        room = (0.14, BELOW / height, 0.83, 1 - (BELOW + top) / height)
        axes = drawn.add_axes(room, facecolor="none")
        for event in [one for one in MARKS if one in seen]:
            row, (mark, colour) = rows.index(ROW_OF[event]), MARKS[event]
            at = [(one.at_ms - start) / 1_000 for one in known if one.event == event]
            axes.plot(at, [row] * len(at), linestyle="none", marker=mark, markersize=8,
                      color=PALETTE[colour], label=event.replace("_", " "))  # fmt: skip
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:,.10g} s"))
        axes.set_xlabel(f"since {moment(start)}")
        if known:
            axes.legend(loc="lower left", bbox_to_anchor=(-0.12, 1.0), ncols=4, fontsize=9,
                        borderaxespad=0.2, handletextpad=0.2, columnspacing=1.0)  # fmt: skip
        return inline_svg(
            drawn,
            f"around-{told.incident}",
            f"What happened around incident {told.incident}",
            f"{len(known)} events; the table below has them.",
        )


def _drawn(events: tuple[Event, ...]) -> list[Event]:
    """Events that have a mark, but for those whose clock cannot be right."""
    known = sorted((one for one in events if one.event in MARKS), key=lambda one: one.at_ms)
    middle = known[len(known) // 2].at_ms if known else 0
    return [one for one in known if abs(one.at_ms - middle) <= LONGEST_MS]

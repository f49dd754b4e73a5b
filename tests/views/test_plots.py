"""The method `plot` of records and results."""

import sys
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from fairbandits import GroupRewards
from fairbandits.audit import audit
from fairbandits.ope import evaluate
from tests.audit.logs import dated, make
from tests.ope.logs import make_log
from tests.views.objects import audited, comparison, group_rewards, trace


@pytest.fixture(autouse=True)
def close_figures():
    with mpl.rc_context({"backend": "agg"}):
        yield
    pyplot.close("all")


def small_audit(**settings):
    return audit(dated(make(n=3_000)), groups=["sex"], tolerance=0.02, **settings)


def small_evaluation():
    from fairbandits import LinUCB, Uniform

    return evaluate(make_log(1_500), {"LinUCB": LinUCB(random_state=0), "$x$ & y": Uniform()}, train=0.3)


PLOTS = {
    "groups": (lambda: group_rewards(3), {}, "Mean reward of each group", "mean reward"),
    "many groups": (lambda: group_rewards(50), {"attribute": "region"}, "Mean reward of each group", "not shown"),
    "trace": (lambda: trace(2_000, 3), {}, "Mean reward by region", "round"),
    "trace of many groups": (lambda: trace(20_000, 50), {"attribute": "region"}, "Mean reward by region", "round"),
    "audit": (small_audit, {}, "Mean reward by sex", "tolerance of 0.02"),
    "audit of many groups": (audited, {"attributes": "sex"}, "Mean reward by sex", "not shown"),
    "audit over time": (small_audit, {"over_time": True}, "Reward gap by sex over time", ""),
    "sequential audit over time": (
        lambda: small_audit(sequential=True), {"over_time": True}, "Cumulative mean reward by sex", "",
    ),
    "evaluation": (small_evaluation, {}, "Mean reward of each policy", "mean reward per decision"),
    "evaluation by sex": (small_evaluation, {"attribute": "sex"}, "Mean reward of each policy", "mean reward"),
    "comparison": (comparison, {"world": "3"}, "3: utility loss and reward gap", "reward gap"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLOTS)
def test_plots_return_labelled_axes(name):
    make_object, options, title, label = PLOTS[name]
    axes = make_object().plot(**options)
    assert axes.get_title(loc="left").startswith(title)
    assert label in axes.get_xlabel()
    assert axes.get_ylabel() or axes.get_yticklabels()
    with warnings.catch_warnings():
        # The test's font may lack a glyph; the layout must fit without a warning.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        axes.figure.canvas.draw()
    # Nothing is outside the figure: labels, title and legend fit.
    box, figure = axes.get_tightbbox(), axes.figure.bbox
    assert box.x0 >= figure.x0 - 1
    assert box.y0 >= figure.y0 - 1
    assert box.x1 <= figure.x1 + 1
    assert box.y1 <= figure.y1 + 1


@pytest.mark.parametrize("name", PLOTS)
def test_plots_draw_on_given_axes(name):
    make_object, options, *_ = PLOTS[name]
    _, axes = pyplot.subplots(1, 2)
    before = pyplot.get_fignums(), dict(mpl.rcParams)
    assert make_object().plot(axes[1], **options) is axes[1]
    assert (pyplot.get_fignums(), dict(mpl.rcParams)) == before
    assert not axes[0].has_data()


def test_figures_are_opaque_and_follow_a_dark_style():
    groups = group_rewards(2)
    with mpl.rc_context({"figure.facecolor": "none"}):
        assert groups.plot().figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    with pyplot.style.context("dark_background"):
        axes = groups.plot()
    assert axes.figure.get_facecolor() == (0.0, 0.0, 0.0, 1.0)
    assert {text.get_color() for text in axes.texts} == {"white"}


def test_the_gap_is_annotated():
    groups = GroupRewards()
    for reward in (0.2, 0.4):
        groups.add(reward, "a")
        groups.add(reward + 0.5, "b")
    texts = [text.get_text() for text in groups.plot().texts]
    assert "gap 0.500 (0.000 to 1.000)" in texts


def test_a_trace_marks_its_parts_and_starts_each_anew():
    axes = trace(2_000, 2).plot()
    assert [text.get_text() for text in axes.texts] == ["train", "test"]
    starts = {line.get_xdata()[0] for line in axes.get_lines() if len(line.get_xdata()) > 2}
    assert min(starts) < 10
    assert sum(start > 1_000 for start in starts) == 2


def test_names_are_not_read_as_formulas():
    axes = small_evaluation().plot()
    assert "$x$ & y" in [label.get_text() for label in axes.get_yticklabels()]
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    legend = trace(500, 2).plot().get_legend()
    assert not any(text.get_parse_math() for text in legend.get_texts())


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        (lambda: GroupRewards().plot(), "a plot needs at least one reward, got none; record some first"),
        (lambda: group_rewards(2).plot(attribute="sex"), r"attribute must be one of \['region'\], got 'sex'"),
        (lambda: trace(10, 2).plot(attribute="sex"), "attribute must be one of 'region', got 'sex'"),
        (lambda: small_evaluation().plot(attribute="race"), "attribute must be one of 'sex', got 'race'"),
        (lambda: comparison().plot(world="Mars"), "world must be one of 0, 1, 2"),
        (
            lambda: audit(make(n=10), groups=["sex"]).plot(),
            "a plot needs at least two groups that are large enough, got 0 by sex",
        ),
        (
            lambda: audit(make(n=600).assign(time=1), groups=["sex"]).plot(over_time=True),
            "over_time needs a log with more than one time window, got one; name its time column",
        ),
    ],
)
def test_what_cannot_be_plotted_is_refused(plot, message):
    with pytest.raises(ValueError, match=message):
        plot()


def test_plots_need_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"figures need matplotlib; .* pip install 'fairbandits\[plot\]'"):
        group_rewards(2).plot()


def test_long_traces_are_thinned():
    axes = trace(200_000, 2).plot()
    assert max(len(line.get_xdata()) for line in axes.get_lines()) <= 2_000
    assert np.isfinite(axes.get_ylim()).all()

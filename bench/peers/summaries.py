"""Errors of other programs on tables of irregular series, for docs/research/model_choice.md.

    pip install scikit-learn pandas aeon
    python3 bench/peers/summaries.py TRAIN.csv TEST.csv regress --static gap --value fev [--predictions PREDICTIONS]
    python3 bench/peers/summaries.py TRAIN.csv TEST.csv classify --static sex,age

The tables have the columns `series` and `time`, and `target` or `label`, as for `deno task train own-series`. PREDICTIONS
is the output of `deno task predict`, which is measured too. A line has the squared error or the Brier score, its standard
error, and the mean difference from PREDICTIONS with the standard error of the difference.
"""
import argparse
import json
import warnings

import numpy as np
import pandas as pd
from aeon.distances import pairwise_distance
from aeon.transformations.collection.convolution_based import MiniRocket
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")
parser = argparse.ArgumentParser()
parser.add_argument("train")
parser.add_argument("test")
parser.add_argument("task", choices=["regress", "classify"])
parser.add_argument("--static", default="", help="columns with one value for a series")
parser.add_argument("--value", help="channel whose last value is a baseline of numbers")
parser.add_argument("--predictions")
options = parser.parse_args()
is_number = options.task == "regress"
truth = "target" if is_number else "label"

both = pd.concat([pd.read_csv(options.train), pd.read_csv(options.test)], keys=["train", "test"])
names = [name for name in options.static.split(",") if name]
texts = [c for c in both if c not in ("series", "time", truth) and not pd.api.types.is_numeric_dtype(both[c])]
both = pd.get_dummies(both, columns=texts, dtype=float)
static = [c for c in both if c in names or any(c.startswith(f"{name}_") for name in names if name in texts)]
channels = [c for c in both if c not in ("series", "time", truth, *static)]
length = int(max(9, min(200, both.groupby("series").size().median())))


def summary(rows):
    """Mean, last, first, minimum, maximum, deviation, slope, count and time since the last value of each channel."""
    times = rows.time.to_numpy(float)
    found = [rows[c].iloc[0] for c in static]
    for c in channels:
        values = rows[c].to_numpy(float)
        known = ~np.isnan(values)
        v, t = values[known], times[known]
        if len(v) == 0:
            found += [np.nan] * 7 + [0, np.nan]
            continue
        slope = np.polyfit(t - t.mean(), v, 1)[0] if len(v) > 1 and np.ptp(t) > 0 else np.nan
        found += [v.mean(), v[-1], v[0], v.min(), v.max(), v.std(), slope, len(v), times[-1] - t[-1]]
    return found + [len(times), times[-1] - times[0]]


def grid(rows):
    """Channels at equal distances in time, by linear interpolation."""
    times = rows.time.to_numpy(float)
    at = np.linspace(times[0], times[-1], length)
    values = [rows[c].to_numpy(float) for c in [*channels, *static]]
    return [np.interp(at, times[~np.isnan(v)], v[~np.isnan(v)]) if (~np.isnan(v)).any() else at * np.nan for v in values]


def read(part):
    groups = [(name, rows.sort_values("time")) for name, rows in both.loc[part].groupby("series")]
    targets = np.array([rows[truth].iloc[0] for _, rows in groups])
    return [str(name) for name, _ in groups], np.array([summary(rows) for _, rows in groups], float), targets, np.array(
        [grid(rows) for _, rows in groups])


_, x, y, curves = read("train")
series, x_test, y_test, curves_test = read("test")
median = np.nan_to_num(np.nanmedian(x, 0))
filled, filled_test = [np.where(np.isnan(rows), median, rows) for rows in (x, x_test)]
mean, deviation = np.nanmean(curves, (0, 2), keepdims=True), np.nanstd(curves, (0, 2), keepdims=True) + 1e-9
curves, curves_test = [np.nan_to_num((part - mean) / deviation) for part in (curves, curves_test)]
classes = np.unique(y)
one_hot = lambda labels: (np.asarray(labels)[:, None] == classes[None, :]).astype(float)


def errors(predicted):
    return (predicted - y_test) ** 2 if is_number else ((predicted - one_hot(y_test)) ** 2).sum(1)


own = None
if options.predictions:
    lines = {str(line["series"]): line for line in map(json.loads, open(options.predictions))}
    of = lambda line: line["numbers"]["target"] if is_number else [line["probabilities"][str(c)] for c in classes]
    own = errors(np.array([of(lines[name]) for name in series]))


def report(name, found):
    difference = "" if own is None else f"  difference {np.mean(found - own):.4g} se {np.std(found - own) / len(own) ** 0.5:.3g}"
    print(f"{name:15} {np.mean(found):.5g} se {np.std(found) / len(found) ** 0.5:.3g}{difference}", flush=True)


def predictions(model, train, test):
    model.fit(train, y)
    if is_number:
        return model.predict(test)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(test)
    scores = model.decision_function(test)
    scores = np.exp(2 * (np.stack([-scores, scores], 1) if scores.ndim == 1 else scores))
    return scores / scores.sum(1, keepdims=True)


if own is not None:
    report("weft", own)
penalties = np.logspace(-3, 5, 10)
seeds = range(3)
forest, trees = (RandomForestRegressor, HistGradientBoostingRegressor) if is_number else (
    RandomForestClassifier, HistGradientBoostingClassifier)
ridge = RidgeCV if is_number else RidgeClassifierCV
report("forest", np.mean([errors(predictions(forest(500, random_state=s), filled, filled_test)) for s in seeds], 0))
report("boosted trees", errors(predictions(trees(random_state=0), x, x_test)))
rockets = [MiniRocket(random_state=s) for s in seeds]
report("MiniRocket", np.mean([errors(predictions(
    make_pipeline(StandardScaler(with_mean=False), ridge(penalties)), rocket.fit_transform(curves), rocket.transform(curves_test),
)) for rocket in rockets], 0))
nearest = y[pairwise_distance(curves_test, curves, method="dtw", window=0.1).argmin(1)]
report("1-NN DTW", errors(nearest if is_number else one_hot(nearest)))
if is_number:
    report("mean", errors(y.mean()))
    last = x_test[:, len(static) + 9 * channels.index(options.value) + 1]
    report("last value", errors(np.where(np.isnan(last), y.mean(), last)))
else:
    report("class fractions", errors(np.tile(one_hot(y).mean(0), (len(y_test), 1))))

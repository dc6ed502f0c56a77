"""Reads exported event files with TensorBoard: tensorboard_check.py FOLDER [--server]

export_corpus makes FOLDER. The script reads each study with the event loader, the event accumulator and the code of the
HParams page, and compares with facts.json. With --server, it reads with the data server of TensorBoard too.
"""
import json
import math
import pathlib
import sys

try:
    import tensorboard
    from tensorboard import context
    from tensorboard.backend.event_processing import data_provider, event_accumulator, event_file_loader
    from tensorboard.backend.event_processing import plugin_event_multiplexer
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups
except ImportError as error:
    print("skipped: tensorboard is not installed:", error)
    sys.exit(77)

STATUS = {
    "succeeded": api_pb2.STATUS_SUCCESS,
    "stopped": api_pb2.STATUS_SUCCESS,
    "duplicate": api_pb2.STATUS_SUCCESS,
    "failed": api_pb2.STATUS_FAILURE,
    "cancelled": api_pb2.STATUS_UNKNOWN,
    "running": api_pb2.STATUS_UNKNOWN,
}


def same(a, b):
    a, b = float(a), float(b)
    return math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)


def run_name(trial):
    return "trial_%04d" % trial["id"]


def exported(facts):
    """Returns the best 200 trials: ranked ones, then the others."""
    (metric, maximize) = facts["goals"][0]

    def key(trial):
        last = trial["curve"][-1]["metrics"] if trial["curve"] else {}
        ranks = trial["state"] in ("succeeded", "stopped") and trial["curve"]
        value = float(last.get(metric, "nan")) if ranks else math.nan
        return (not ranks, math.isnan(value), 0 if math.isnan(value) else -value if maximize else value)

    if len(facts["trials"]) <= 200:
        return facts["trials"]
    return sorted(facts["trials"], key=key)[:200]


def check_events(folder, trials):
    """Checks frames, versions, the order of times, and each scalar."""
    files = sorted(folder.rglob("*tfevents*"))
    assert len(files) == len(trials) + 1, (len(files), len(trials))
    for file in files:
        events = list(event_file_loader.EventFileLoader(str(file)).Load())
        assert events[0].file_version == "brain.Event:2"
        times = [event.wall_time for event in events]
        assert times == sorted(times), file
    for trial in trials:
        accumulator = event_accumulator.EventAccumulator(str(folder / run_name(trial)))
        accumulator.Reload()
        want = {}
        for point in trial["curve"]:
            for name, value in point["metrics"].items():
                want.setdefault(name, []).append((point["step"], value))
        tags = set(accumulator.Tags()["scalars"])
        assert tags == set(want), (run_name(trial), tags, set(want))
        for name, points in want.items():
            got = accumulator.Scalars(name)
            assert [event.step for event in got] == [step for step, _ in points]
            for event, (_, value) in zip(got, points):
                assert same(event.value, value), (run_name(trial), name, value)


def check_hparams(provider, facts, trials):
    """Checks the HParams page: columns of the experiment, and sessions with values, metrics and status."""
    backend = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = context.RequestContext()
    experiment = get_experiment.Handler(request, backend, "", api_pb2.GetExperimentRequest()).run()
    params = set(facts["params"]) | ({"base"} if trials else set())
    assert sorted(info.name for info in experiment.hparam_infos) == sorted(params)
    assert experiment.name == facts["name"]
    metrics = {name for trial in trials for point in trial["curve"] for name in point["metrics"]}
    assert {info.name.tag for info in experiment.metric_infos} == metrics

    query = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=len(trials) + 1,
        allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE,
                          api_pb2.STATUS_RUNNING],
        col_params=[api_pb2.ColParams(hparam=name) for name in sorted(params)])
    query.col_params.extend(api_pb2.ColParams(metric=api_pb2.MetricName(tag=name)) for name in sorted(metrics))
    groups = list_session_groups.Handler(request, backend, "", query).run().session_groups
    sessions = {session.name: (group, session) for group in groups for session in group.sessions}
    assert set(sessions) == {run_name(trial) for trial in trials}
    kinds = {}
    for trial in trials:
        group, session = sessions[run_name(trial)]
        want = dict(trial["sample"], base=trial["base"])
        assert set(group.hparams) == set(want), (run_name(trial), set(group.hparams))
        for name, value in want.items():
            kind = group.hparams[name].WhichOneof("kind")
            assert kinds.setdefault(name, kind) == kind, "%s is %s and %s" % (name, kinds[name], kind)
            got = getattr(group.hparams[name], kind)
            assert got == value if kind != "number_value" else same(got, value), (name, got, value)
        assert session.status == STATUS[trial["state"]], (run_name(trial), session.status)
        last = trial["curve"][-1]["metrics"] if trial["curve"] else {}
        got = {value.name.tag: value.value for value in session.metric_values}
        assert set(got) == set(last), (run_name(trial), got)
        assert all(same(got[name], value) for name, value in last.items())
    return len(sessions)


def python_provider(folder):
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return data_provider.MultiplexerDataProvider(multiplexer, str(folder))


def server_provider(folder):
    from tensorboard.data import server_ingester
    from tensorboard.util import grpc_util

    ingester = server_ingester.SubprocessServerDataIngester(
        server_binary=server_ingester.get_server_binary(), logdir=str(folder), reload_interval=5,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL)
    ingester.start()
    return ingester.data_provider


def main():
    providers = [python_provider] + ([server_provider] if "--server" in sys.argv else [])
    for study in sorted(path for path in pathlib.Path(sys.argv[1]).iterdir()):
        facts = json.loads((study / "facts.json").read_text())
        trials = exported(facts)
        check_events(study / "tensorboard", trials)
        for provider in providers:
            count = check_hparams(provider(study / "tensorboard"), facts, trials)
            print("tensorboard %s: %s: %d sessions as written" % (tensorboard.__version__, study.name, count))


main()

"""Kernels over several GPUs: sim/memory/README.md, On several GPUs, from "With split" on; written from that page."""
from simpy_inputs import ceil_div


def present(policy):
    """Processes with jobs unfinished, in client order."""
    return [process for _, process in sorted(policy.processes.items())]


def may_use(policy, process):
    """So many GPUs."""
    processes, gpus = present(policy), policy.model.gpus
    if not policy.splits or len(processes) >= gpus:
        return 1
    even, more = divmod(gpus, len(processes))
    return even + (processes.index(process) < more)


def uses(process):
    """GPUs that have something of it."""
    return sum(state.phase != "absent" for state in process.job.states)


def has_too_many(policy, process):
    """GPUs that have its state and keep it, as others could use some of them."""
    keep = sum(state.phase in ("resident", "restoring") for state in process.job.states)
    return policy.model.gpus > 1 and keep > may_use(policy, process)


def split(policy):
    for process in present(policy):
        most = may_use(policy, process)
        if most < 2 or not process.job.eligible:
            continue
        gpus = joining(policy, process, most - max(1, uses(process)))
        for place, gpu in enumerate(gpus):
            if not join(policy, process, gpu, len(gpus) - place):
                break


def joining(policy, process, more):
    """GPUs that it could take part on, too, by number: where it is itself, and `more` others."""
    model, gpus = policy.model, []
    for gpu in range(model.gpus):
        others = any(job is not process.job and job.states[gpu].phase != "absent" for job in model.current if job)
        phase = process.job.states[gpu].phase
        if model.owner[gpu] or policy.queue(gpu) or others or phase == "saving":
            continue
        if phase == "absent":
            more -= 1
            if more < 0:
                continue
        gpus.append(gpu)
    return gpus


def join(policy, process, gpu, still):
    """Returns whether another one may be asked."""
    part, take = part_for(process, still)
    job, model = process.job, policy.model
    if not part or job.restore_room(gpu, set(part)) > model.room(gpu) or any(share.gpu == gpu for share in process.shares):
        return False
    changed = job.unsaved_elsewhere(gpu, set(part))
    if not pays(policy, process, gpu, part, changed):
        return False
    if changed:
        if not job.running:
            policy.save_on(process, [other for other, state in enumerate(job.states)
                                     if other != gpu and (state.changed or state.changed_blocks)])
        return False
    take()
    for share in process.shares:
        if share.gpu is None:
            share.gpu = share.placed
    process.split = True
    share = type(process.shares[0])(process, part, gpu)
    process.shares.append(share)
    policy.request(share)
    return True


def part_for(process, still):
    """(blocks, what takes them from where they are)."""
    if process.spare:
        return process.spare[-1], process.spare.pop
    shares = [share for share in process.shares if share.again is None and share.rest]
    if not shares:
        return None, None
    largest = max(shares, key=lambda share: len(share.rest))
    fit = process.job.kernel.fit
    waves = ceil_div(len(largest.rest), fit)
    part = min(max(1, waves // (still + 1)), waves - (largest.launch is None))
    if part < 1:
        return None, None
    keeps = (waves - part) * fit

    def take():
        largest.rest = largest.rest[:keeps]
    return largest.rest[keeps:], take


def pays(policy, process, gpu, part, changed):
    job, model = process.job, policy.model
    kernel, client = job.kernel, job.client
    left = (kernel.tasks - job.done) * kernel.declared // kernel.tasks
    left += sum(later.declared for later in client.kernels[job.stage + 1:])
    shares, kernels = len(process.shares), len(client.kernels) - job.stage
    copied = sum(job.copied_by_restore(gpu, set(part))) + (
        job.restore_room(gpu, set(range(client.blocks))) if changed else 0)
    engine = model.engines.gpus[0]["h2d"]
    merged = engine.work(client.shared_dirty)
    return left // (shares * (shares + 1)) > engine.work(copied) + 2 * (shares + 1) * kernels * merged

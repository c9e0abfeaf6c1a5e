"""Which lines figures of response times have: of a policy one for each point at which it does something else."""
from gangway.drawing import alike, names

_ON_ONE_PAGE = 6  # lines, up to which several points share it


def pages(found, times):
    """[(what is swept on the page, or '', {run: its jobs}, {run: its label})]. A run is (point, policy); times: as results.read_responses()
    has them. A parameter is told where it changes something, one of a policy only of that policy. Several policies at several points have a
    page for each point, if there are many lines. Equal lines are one."""
    if not found.swept:
        return [('', *_merged(times, {run: (found.label(*run),) for run in times}))]
    known = {(row.point, row.policy) for row in found.summary}
    times = {run: clients for run, clients in times.items() if run in known}
    lines = _Lines(found, times)
    policies, shared = lines.policies, lines.shared()
    if len(policies) < 2 or not shared or sum(len(lines.of(policy)) for policy in policies) <= _ON_ONE_PAGE:
        chosen = [run for policy in policies for run in lines.of(policy)]
        return [('', *_merged({run: times[run] for run in chosen}, {run: lines.label(run) for run in chosen}))]
    found_pages = []
    for values in dict.fromkeys(tuple(lines.swept[run][index] for index in shared) for run in times):
        chosen = [run for policy in policies for run in lines.at(policy, dict(zip(shared, values)))]
        setting = ', '.join(names.setting(found.swept[index], value) for index, value in zip(shared, values))
        found_pages.append((setting, *_merged({run: times[run] for run in chosen}, {run: lines.label(run, without=shared) for run in chosen})))
    return found_pages


def _merged(times, labels):
    together = alike.groups(times)
    return {run: times[run] for run in together}, {run: _joined([labels[each] for each in own], labels.values()) for run, own in together.items()}


def _joined(own, every):
    """The label of equal lines: 'edf = piv'. What they have at all values of something is not told. own: parts of each label; every: of all."""
    if len({len(label) for label in own}) == 1:
        differing = [place for place, parts in enumerate(zip(*own)) if len(set(parts)) > 1]
        if len(differing) == 1:
            place, = differing
            values = dict.fromkeys(label[place] for label in own)
            told = [] if len(own[0]) > 1 and {*values} == {label[place] for label in every if len(label) > place} else [' = '.join(values)]
            return ', '.join([*own[0][:place], *told, *own[0][place + 1:]])
    return ' = '.join(filter(None, dict.fromkeys(map(', '.join, own))))


class _Lines:
    def __init__(self, found, times):
        self._paths, self._times = found.swept, {run: hash(repr(clients)) for run, clients in times.items()}  # as text: a NaN equals nothing
        self.swept = {(row.point, row.policy): row.swept for row in found.summary}
        self.policies = names.in_order(policy for _, policy in times)
        self._told = {policy: [index for index in range(len(found.swept)) if self._matters(policy, index)] for policy in self.policies}

    def _owner(self, index):
        """The policy whose parameter it is, or None."""
        parts = self._paths[index].split('.')
        return parts[1] if parts[0] == 'policies' and len(parts) > 1 and parts[1] in self.policies else None

    def _matters(self, policy, index):
        if self._owner(index) not in (None, policy):
            return False
        alike_but_for_it = {}
        for run, jobs in self._times.items():
            if run[1] == policy:
                rest = tuple(value for place, value in enumerate(self.swept[run]) if place != index)
                alike_but_for_it.setdefault(rest, set()).add(jobs)
        return any(len(jobs) > 1 for jobs in alike_but_for_it.values())

    def shared(self):
        """What is told of some policy and is no policy's own."""
        return [index for index in range(len(self._paths)) if not self._owner(index) and any(index in told for told in self._told.values())]

    def of(self, policy):
        """The first run of each line."""
        return list(self._first(policy, {}).values())

    def at(self, policy, values):
        """Those where the parameters have these values, by index, as far as they matter to the policy."""
        return list(self._first(policy, values).values())

    def _first(self, policy, values):
        told, found = self._told[policy], {}
        for run in self._times:
            if run[1] == policy and all(self.swept[run][index] == value for index, value in values.items() if index in told):
                found.setdefault(tuple(self.swept[run][index] for index in told), run)
        return found

    def label(self, run, without=()):
        settings = [names.setting(self._paths[index], self.swept[run][index]) for index in self._told[run[1]] if index not in without]
        named = len(self.policies) == 1 or any(setting.startswith(f'{run[1]} ') for setting in settings)
        return tuple(settings if named else [run[1], *settings])

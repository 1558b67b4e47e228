"""Algorithm 1 of Buys & Blunsom (2015): a beam search with particles, and its resampling schemes.

A derivation d of the beam has a log-weight `theta`, log d.θ in the paper, and `k` particles.

* `ROUND`, as in the paper, divides particles by rounding their expected numbers.
* `SYSTEMATIC` draws. Particles take an option in proportion to its probability, and are weighted by
  the sum over the options, so that the mean weight is an unbiased estimate of the probability of
  the words (Doucet, de Freitas & Gordon 2001). If one particle follows a *retained* derivation,
  this is the conditional filter of particle Gibbs sampling (Andrieu, Doucet & Holenstein 2010): the
  numbers of particles are drawn given that this one goes on (Chopin & Singh 2015, "On particle
  Gibbs sampling").
* `TOP`, the paper's baseline, takes every option and keeps the K best derivations.

The log-sum of the weights after word i is a lower bound of the log-probability of the words up to
i. In running text (`Search.apart`) that is a sum over the places where sentences end. With α(s) for
the probability of the words before s and that a sentence ends there,

    α(t) = sum over s of α(s) p(words s to t - 1 are a sentence)
    p(words up to t) = sum over s of α(s) p(words s to t begin a sentence)

where α(0) = 1. Each start s has its own particles; otherwise a start that looks improbable for a
word or two would lose them all.
"""

from math import ceil, exp, floor, inf, log, log1p, sqrt

import numpy as np

from ..compiled import NONE, jit, jitable, overwrite
from ..hpyp.gibbs import draw
from .configuration import FIRST_RECORD, ROOT, SHIFT, compact, reduce, shift
from .proposals import action_probabilities, best_arcs, best_tags
from .search import ROUND, SYSTEMATIC, TOP

#: A derivation of a beam.
DERIVATION = np.dtype(
    [
        ("theta", np.float64),  # The log-weight
        ("k", np.int64),  # The number of particles
        ("heuristic", np.float64),  # The promise of the last tag, see `future_costs`
        ("record", np.int32),  # The configuration
        ("depth", np.int32),  # The depth of its stack
        ("step", np.int32),  # How many actions of the retained particle are done, else NONE
        ("sentence", np.int32),  # The number of its sentence in running text, else 0
    ],
    align=True,
)
#: A sentence of running text is given up below this part of the total probability.
NEGLIGIBLE = 1e-3
# Sentences above this part, one more for rounding, and the next sentence.
_SENTENCES = int(1.0 / NEGLIGIBLE) + 2
_SMALLEST = 1024
# A NumPy constant, which causes no recompilation.
_FIRST = np.int64(0)
# `is_hopeless` allows a derivation this many attachments at no cost before giving it up.
_ATTACHMENTS = 10
# Particles are resampled when their effective number falls below this share.
_EFFECTIVE = 0.5
# The largest difference in logs between sums of the same numbers in different orders.
_ROUNDING = 1e-12


@jit
def particle_filter(task, block, first, last, beam, records, rng):
    """Pass over words `first` to `last` - 1 of a block of n words; pass n ends the derivations.

    task (Task): The model, the blocks, and how to search. The words are added to `task.sums`, but
        not with `SYSTEMATIC`. With `search.apart`, `first` has to be 0.
    beam (DERIVATION[*]): The derivations before word `first`; not read if that is 0.
    records (int32[*, 16]): Their configurations, or `new_records`; replaced if there is no room.
    rng (numpy.random.Generator): The source of randomness of `SYSTEMATIC`.
    RETURNS (tuple): The records, and the beam after the last pass.
    """
    search, sums, options, retained = task.search, task.sums, task.work.options, task.retained
    scheme, start, end = search.scheme, task.blocks.offsets[block], task.blocks.offsets[block + 1]
    shifted, size, sentences = np.empty(_SMALLEST, DERIVATION), len(beam), 1
    best = np.empty((_SENTENCES if search.apart else 1, search.particles if scheme == TOP else 1))
    used, room = unused_record(beam), 2 * len(options.outcome) + 1
    if first == 0:
        # Initialize the beam with parser configuration d with weight d.θ = 1 and d.k = K particles;
        # with `TOP` two each, so that one shifts and one reduces.
        beam, used = np.empty(_SMALLEST, DERIVATION), FIRST_RECORD
        k = 2 if scheme == TOP else search.particles
        step = 0 if retained.actions[0] != NONE else NONE
        size = append(beam, 0, 0.0, k, 0.0, ROOT, 1, step, 0)
        sums.tagged[0], sums.before[0] = -inf, 0.0
    # for i ← 1 to N (and a pass that ends the derivations)
    for i in range(start + first, start + last):
        # Search step.
        j, count, ended = 0, 0, 0.0 if i == start else -inf
        best[:sentences] = -inf
        # foreach derivation d in beam do
        while j < size:
            if used + room > len(records) or size + room > len(beam) or count + room > len(shifted):
                records, used, beam, shifted = make_room(
                    records, used, beam, size, shifted, count, room
                )
            d = beam[j]
            j += 1
            if search.apart and d.record == ROOT and begins_later(beam, j, size, ended):
                size += 1
                continue
            if i == end and d.depth == 1:
                # d is terminal.
                shifted[count] = d
                count += 1
                if scheme == TOP:
                    note(best[0], expected_weight(d, search))
                continue
            if is_hopeless(d, best[d.sentence], search):
                continue
            # nShift = round(d.k · p(sh | d.h)); nReduce = d.k - nShift
            p_shift, p_reduce = action_probabilities(task, records, d.record, i, end)
            p_action = p_shift + p_reduce
            if p_action == 0.0:
                continue
            follows = retained.actions[d.step] if d.step != NONE else NONE
            n_shift = split_particles(scheme, d.k, p_shift, p_reduce, follows, rng)
            n_reduce = d.k - n_shift
            # if nReduce > 0 then a = argmax p(a | d.h) of the arcs; here the best few share nReduce
            if n_reduce > 0:
                arcs = best_arcs(task, records, d.record, n_reduce)
                for a in range(allocate(scheme, options, arcs, n_reduce, follows, rng)):
                    action, p, k = options.outcome[a], options.probability[a], options.particles[a]
                    # dd.k = nReduce; dd.θ = d.θ · p(a | d.h). Draws account for p(a | d.h) already:
                    # with `SYSTEMATIC` the weight gets the sum.
                    theta = d.theta + log(p_action if scheme == SYSTEMATIC else p)
                    if search.apart and d.depth == 2:
                        ended = log_add(ended, theta)
                        continue
                    step = d.step + 1 if action == follows else NONE
                    # beam.append(dd); dd.execute(a)
                    reduce(records, used, d.record, action)
                    size = append(
                        beam, size, theta, k, d.heuristic, used, d.depth - 1, step, d.sentence
                    )
                    used += 1
            # if nShift > 0 then t = argmax p(t | d.h) p(w | t, d.h); here the best few share nShift
            if n_shift > 0:
                tags, p_tags = best_tags(task, records, d.record, i, n_shift)
                p_tokens = total_of(options.probability, tags)
                if p_tokens == 0.0:
                    continue
                given = retained.tags[i - start] if follows == SHIFT else NONE
                sums.tagged[0] = log_add(sums.tagged[0], d.theta + log(p_shift * p_tags))
                for t in range(allocate(scheme, options, tags, n_shift, given, rng)):
                    tag, p, k = options.outcome[t], options.probability[t], options.particles[t]
                    # d.k = nShift; d.θ = d.θ · p(sh | d.h) · p(t | d.h) p(w | t, d.h)
                    if scheme == SYSTEMATIC:
                        theta = d.theta + (log(p_action) + log(p_tokens))
                    else:
                        theta = d.theta + log(p_shift) + log(p)
                    step = d.step + 1 if tag == given else NONE
                    # d.execute(sh)
                    shift(records, used, d.record, tag, task.outcomes[i])
                    promise = task.heuristic[i, tag]
                    count = append(
                        shifted, count, theta, k, promise, used, d.depth + 1, step, d.sentence
                    )
                    note(best[d.sentence], expected_weight(shifted[count - 1], search))
                    used += 1
        # Selection step.
        beam, shifted = shifted, beam
        size, sentences = select(task, i, end, beam, count, sentences, ended, best[0], rng)
    return records, beam[:size]


@jitable
def search_block(task, block, records, rng):
    """Run the particle filter over all words of a block. Returns the records and the final beam."""
    n = task.blocks.offsets[block + 1] - task.blocks.offsets[block]
    return particle_filter(task, block, _FIRST, n + 1, np.empty(0, DERIVATION), records, rng)


@jitable
def append(beam, size, theta, k, heuristic, record, depth, step, sentence):
    """Enter a derivation at place `size`. Returns the new size."""
    d = beam[size]
    d.theta, d.k, d.heuristic = theta, k, heuristic
    d.record, d.depth, d.step, d.sentence = record, depth, step, sentence
    return size + 1


@jitable
def begins_later(beam, j, size, ended):
    """Move the sentence of running text that begins here to the end, and return True; there, give
    it the weight of those that have ended, and return False.
    """
    if j == size:
        beam[j - 1].theta = ended
        return False
    beam[size] = beam[j - 1]
    return True


# Room.


@jitable
def longer(array):
    """Return a copy with twice the room."""
    copy = np.empty((2 * len(array),) + array.shape[1:], array.dtype)
    overwrite(copy, array)
    return copy


@jitable
def unused_record(beam):
    """Return the number of the first record after those of a beam."""
    record = ROOT
    for d in beam:
        record = max(record, d.record)
    return record + 1


@jitable
def make_room(records, used, beam, size, shifted, count, more):
    """Make arrays longer. If records are full, forget those that no derivation needs.

    At least half of them are free then: time grows with the number of records made.
    RETURNS (tuple): The records, how many are left, and both beams.
    """
    while size + more > len(beam):
        beam = longer(beam)
    while count + more > len(shifted):
        shifted = longer(shifted)
    if used + more <= len(records):
        return records, used, beam, shifted
    tops = np.empty(size + count, dtype=np.int32)
    overwrite(tops, beam["record"][:size])
    overwrite(tops[size:], shifted["record"][:count])
    used = compact(records, used, tops)
    for i in range(size):
        beam[i].record = tops[i]
    for i in range(count):
        shifted[i].record = tops[size + i]
    if max(2 * used, used + more) > len(records):
        larger = np.empty((2 * used + more, records.shape[1]), records.dtype)
        for record in range(used):
            overwrite(larger[record], records[record])
        records = larger
    return records, used, beam, shifted


# Hopeless derivations. Without this test, a particle would attach words down to the bottom of the
# stack.


@jitable
def expected_weight(d, search):
    """Return the log-weight plus the tag's promise minus the expected cost of open words."""
    return d.theta + d.heuristic - search.stack_penalty * d.depth


@jitable
def is_hopeless(d, best, search):
    """Whether a derivation is unlikely to get a particle in the selection step.

    best (float64[*]): The highest `expected_weight`, or in order the K highest with `TOP`.
    """
    if search.scheme == SYSTEMATIC:
        return False
    if search.scheme == TOP:
        # After the word, the stack has at least one item.
        return d.theta + d.heuristic - search.stack_penalty < best[-1]
    # k is at least 1 here, and at most K for the best derivation: theta has to be 1 / K ** 2 of the
    # best one's. For marginals, only theta counts.
    nats = search.temperature if search.marginals else 2.0
    lead = nats * log(float(search.particles)) + _ATTACHMENTS * search.stack_penalty
    return expected_weight(d, search) < best[0] - lead


@jitable
def note(best, expected):
    """Enter the expected weight of a derivation that has ended or shifted the word into `best`."""
    place = len(best)
    while place > 0 and best[place - 1] < expected:
        if place < len(best):
            best[place] = best[place - 1]
        place -= 1
    if place < len(best):
        best[place] = expected


# Search step.


@jitable
def split_particles(scheme, k, p_shift, p_reduce, follows, rng):
    """Return nShift, how many of k particles shift; the others reduce.

    p_shift, p_reduce (float): The probabilities, not normalised; one may be 0.
    follows (int): With `SYSTEMATIC`, the action that one of the particles has to take, or `NONE`.
    """
    if p_shift == 0.0 or p_reduce == 0.0:
        return k if p_reduce == 0.0 else 0
    if scheme == ROUND:
        return np.int64(floor(k * p_shift + 0.5))
    if scheme == TOP:
        return k // 2
    reduces = follows != NONE and follows != SHIFT
    expected = k * ((p_reduce if reduces else p_shift) / (p_shift + p_reduce))
    taken = floor(expected) + int(
        offset(expected, follows != NONE, rng) < expected - floor(expected)
    )
    return np.int64(k - taken if reduces else taken)


@jitable
def total_of(values, count):
    """Return the sum of the first values (float64[*]); for so few, Numba's takes longer."""
    total = 0.0
    for i in range(count):
        total += values[i]
    return total


@jitable
def allocate(scheme, options, count, k, follows, rng):
    """Divide k particles between `count` options, and reorder these; with `TOP` each gets two.

    follows (int): With `SYSTEMATIC`, the outcome that one of the particles has to take, or `NONE`.
    RETURNS (int): The number of options that got any: the first ones, with `options.particles`.
    """
    particles, probability, priority = options.particles, options.probability, options.priority
    if scheme == TOP:
        particles[:count] = 2
        return count
    if scheme == SYSTEMATIC:
        particles[:count] = 0
        for i in range(count):
            if options.outcome[i] == follows:
                particles[i] = 1
                k -= 1
        mass = total_of(probability, count)
        for _ in range(k):
            particles[draw(probability[:count], mass, rng)] += 1
        taken = 0
        for i in range(count):
            if particles[i] > 0:
                swap(options, taken, i)
                taken += 1
        return taken
    left = total_of(priority, count)
    # Each option gets its share of the remaining particles, the most promising option first.
    for i in range(count):
        if k == 0:
            return i
        best = i
        for j in range(i + 1, count):
            if priority[j] > priority[best]:
                best = j
        # Move it to place i; ties keep their order.
        for j in range(best, i, -1):
            swap(options, j - 1, j)
        particles[i] = share(k, priority[i], left)
        k -= particles[i]
        left -= priority[i]
    return count


@jitable
def swap(options, i, j):
    """Exchange two options."""
    outcome, probability = options.outcome, options.probability
    particles, priority = options.particles, options.priority
    outcome[i], outcome[j] = outcome[j], outcome[i]
    probability[i], probability[j] = probability[j], probability[i]
    particles[i], particles[j] = particles[j], particles[i]
    priority[i], priority[j] = priority[j], priority[i]


@jitable
def share(k, probability, mass):
    """Return the best option's share of k particles, at least one."""
    return max(1, min(k, np.int64(floor(k * probability / mass + 0.5))))


# Selection step.


@jitable
def select(task, i, end, beam, size, sentences, ended, best, rng):
    """Choose the derivations that go on, and add the word to `task.sums` unless `SYSTEMATIC`.
    Returns the numbers of derivations and of sentences left.
    """
    search, sums = task.search, task.sums
    if search.scheme == SYSTEMATIC:
        if i < end and size > 0:
            size = resample(beam[:size], search.particles, rng)
        return size, 1
    prefix = log_sum(beam["theta"][:size])
    if search.apart:
        if i < end:
            size, sentences = reallocate_sentences(beam, size, sentences, search)
    elif search.scheme == TOP:
        size = keep_best(beam[:size], best, search)
    elif i < end:
        size = reallocate(beam[:size], search.particles, search)
    if i < end:
        # The parts of the word (Roark et al. 2009); positive values are rounding errors.
        lexical = prefix - sums.tagged[0]
        sums.syntactic[i] = min(sums.tagged[0] - sums.before[0], 0.0)
        sums.lexical[i] = lexical if lexical < -_ROUNDING else 0.0
        sums.log_probability[i] = sums.syntactic[i] + sums.lexical[i]
        sums.before[0], sums.tagged[0] = prefix, -inf
    else:
        # The end of the text belongs to its last word.
        total = ended if search.apart else log_sum(beam["theta"][:size])
        sums.log_probability[end - 1] += min(total - sums.before[0], 0.0)
    return size, sentences


@jitable
def reallocate(beam, particles, search):
    """Reallocate K particles by k * theta, drop derivations without any, and multiply by `spread`.

    k * theta counts the past again at each step, and soon one derivation has all particles. That
    serves the search for the best one; for marginals, K particles are shared by theta ** (1 /
    temperature) alone. Derivations that delay attachments are under-penalised, so theta is replaced
    by `expected_weight`.
    RETURNS (int): How many derivations are left, at least one.
    """
    temperature, highest, mass = search.temperature if search.marginals else 1.0, -inf, 0.0
    for d in beam:
        highest = max(highest, expected_weight(d, search) / temperature)
    for d in beam:
        k = 1 if search.marginals else d.k
        mass += k * exp(expected_weight(d, search) / temperature - highest)
    first, first_share, left = 0, -1.0, 0
    for i in range(len(beam)):
        k = 1 if search.marginals else beam[i].k
        # d.θ′ = d.k · d.θ / Σ d.k · d.θ
        proportion = k * exp(expected_weight(beam[i], search) / temperature - highest) / mass
        if proportion > first_share:
            first, first_share = i, proportion
        # d.k = ⌊d.θ′ · K⌋; if d.k = 0 then beam.remove(d)
        k = np.int64(floor(particles * proportion))
        if k > 0:
            left = keep(beam, i, left, k * search.spread)
    return left if left > 0 else keep(beam, first, left, particles * search.spread)


@jitable
def keep(beam, i, left, k):
    """Move a derivation to place `left`, with k particles. Returns the size with it."""
    beam[left] = beam[i]
    beam[left].k = k
    return left + 1


@jitable
def reallocate_sentences(beam, size, sentences, search):
    """Reallocate the particles of each sentence of running text, give up improbable sentences, and
    append the sentence that begins next.

    Improbable sentences get more than their proportion of particles, as they may become probable.
    RETURNS (tuple): The numbers of derivations and of sentences left, with the next one.
    """
    total, part, before = expected_sum(beam[:size], search), np.empty(size, DERIVATION), size
    kept, size, left = beam[:before].copy(), 0, 0
    for sentence in range(sentences):
        count = 0
        for d in kept:
            if d.sentence == sentence:
                part[count] = d
                count += 1
        portion = exp(expected_sum(part[:count], search) - total)
        if portion < NEGLIGIBLE:
            continue
        particles = np.int64(ceil(search.particles * sqrt(portion)))
        for k in range(reallocate(part[:count], particles, search)):
            beam[size] = part[k]
            beam[size].sentence = left
            size += 1
        left += 1
    size = append(beam, size, -inf, search.particles, 0.0, ROOT, 1, NONE, left)
    return size, left + 1


@jitable
def keep_best(beam, best, search):
    """Keep the K best derivations, the first ones among equals. Returns how many there are."""
    least, room, left = best[-1], len(best), 0
    for d in beam:
        room -= expected_weight(d, search) > least
    for i in range(len(beam)):
        expected = expected_weight(beam[i], search)
        if expected > least or (expected == least and room > 0):
            room -= expected == least
            left = keep(beam, i, left, beam[i].k)
    return left


@jit
def resample(beam, particles, rng):
    """Resample systematically if weights are too unequal. Then all particles weigh the same.

    RETURNS (int): How many derivations are left.
    """
    highest, total, squares, held = -inf, 0.0, 0.0, NONE
    for d in beam:
        highest = max(highest, d.theta)
    for i, d in enumerate(beam):
        held = i if d.step != NONE else held
        weight = exp(d.theta - highest)
        total += d.k * weight
        squares += d.k * weight * weight
    if total * total >= _EFFECTIVE * particles * squares:
        return len(beam)
    # Start at the held derivation: the starting point does not change the others' distribution.
    first = max(held, 0)
    expected = particles * beam[first].k * exp(beam[first].theta - highest) / total
    start, reached, given, left = offset(expected, held != NONE, rng), 0.0, 0, 0
    for place in range(len(beam)):
        d = beam[(first + place) % len(beam)]
        reached += particles * d.k * exp(d.theta - highest) / total
        until = (
            particles if place == len(beam) - 1 else min(particles, np.int64(ceil(reached - start)))
        )
        d.k = until - given
        given = until
    for i in range(len(beam)):
        if beam[i].k > 0:
            left = keep(beam, i, left, beam[i].k)
            beam[left - 1].theta = highest + log(total / particles)
    return left


@jitable
def offset(expected, is_held, rng):
    """Draw a number below 1: an expected number of particles is rounded up if its fraction is
    greater. With a held particle, it becomes at least one.
    """
    if not is_held:
        return rng.random()
    least = floor(expected)
    rest = expected - least
    if rng.random() * expected < rest * (least + 1.0):
        return rng.random() * rest
    return rest + rng.random() * (1.0 - rest)


# Sums.


@jit
def log_sum(weights):
    """Return the log of the sum of the exp of some numbers (float64[*])."""
    highest, total = -inf, 0.0
    for weight in weights:
        highest = max(highest, weight)
    if highest == -inf:
        return -inf
    for weight in weights:
        total += exp(weight - highest)
    return highest + log(total)


@jitable
def expected_sum(beam, search):
    """Return the log-sum of the `expected_weight`s of a beam."""
    total = -inf
    for d in beam:
        total = log_add(total, expected_weight(d, search))
    return total


@jitable
def log_add(total, weight):
    """Return the log of the sum of the exp of two numbers; -inf stands for nothing."""
    highest = max(total, weight)
    if highest == -inf:
        return -inf
    return highest + log1p(exp(min(total, weight) - highest))

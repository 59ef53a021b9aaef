import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../shared/guard/index.ts';
import type { Config, Job, Standing } from '../../shared/push/formats.ts';
import { jobsOf } from '../../shared/push/jobs.ts';
import { outboxMessageOf } from '../../shared/push/message.ts';
import { backoffMs, judge, retryAfterOf } from '../../shared/push/outcome.ts';
import { areSpent, LAST_CALL_MS, type Position, passOver, settle } from '../../shared/push/settle.ts';
import { jobNeed } from '../../shared/push/sweep.ts';
import type { Head, Revision } from '../../shared/tasks/formats.ts';

const HOUR = 3_600_000;
const now = Date.UTC(2026, 0, 12, 9);

function position(standing: Partial<Standing> = {}, more: Partial<Position> = {}): Position {
  return {
    standing: { index: 0, attempts: 1, single: false, ...standing },
    last: 2,
    deadline: now + 24 * HOUR,
    ...more,
  };
}

describe('the waits between eight attempts', () => {
  test('are at most 10 s, 30 s, 2 min, 10 min, 30 min, 1 h and 2 h, with full jitter', () => {
    const most = [1, 2, 3, 4, 5, 6, 7].map((attempts) => backoffMs(attempts, 1) / 1000);
    expect(most).toEqual([10, 30, 120, 600, 1_800, 3_600, 7_200]);
    for (const attempts of [1, 4, 7]) {
      expect(backoffMs(attempts, 0)).toBe(0);
      expect(backoffMs(attempts, 0.5)).toBe(backoffMs(attempts, 1) / 2);
    }
  });

  test('are no shorter than what the receiver asked for', () => {
    expect(backoffMs(1, 1, 60_000)).toBe(60_000);
    expect(backoffMs(7, 1, 60_000)).toBe(7_200_000);
  });

  test.each([
    ['0', 0],
    [' 30 ', 30_000],
    ['601', 600_000],
    ['999999999', 600_000],
    ['99999999999999999999', 600_000],
    ['-5', undefined],
    ['1.5', undefined],
    ['4, 4', undefined],
    ['2026-01-12 10:00', undefined],
    [new Date(now + 90_000).toUTCString(), 90_000],
    [new Date(now - 90_000).toUTCString(), 0],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('Retry-After %j means %j ms', (value, ms) => {
    expect(retryAfterOf(value, now)).toBe(ms);
  });
});

describe('an event', () => {
  test('is repeated until its eighth attempt, then exhausted, and the next one has a single attempt', () => {
    for (let attempts = 1; attempts < 8; attempts++) {
      expect(settle(position({ attempts }), { kind: 'retry' }, now, 0.5).kind).toBe('wait');
    }
    expect(settle(position({ attempts: 8 }), { kind: 'retry' }, now, 0.5)).toEqual({
      kind: 'next-event',
      single: true,
      spoiled: 'exhausted',
    });
    expect(settle(position({ attempts: 1, single: true }), { kind: 'retry' }, now, 0.5)).toMatchObject({
      kind: 'next-event',
      single: true,
    });
    expect([0, 1, 7, 8, 9].map((attempts) => areSpent({ attempts }))).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });

  test('that is delivered gives those behind it all their attempts again', () => {
    const at = position({ single: true });
    expect(settle(at, { kind: 'delivered' }, now, 0)).toMatchObject({ kind: 'next-event', single: false });
    // Nothing was sent: that says nothing about the receiver.
    expect(settle(at, { kind: 'removed' }, now, 0)).toMatchObject({ kind: 'next-event', single: true });
    expect(settle(at, { kind: 'failed' }, now, 0)).toMatchObject({ single: true, spoiled: 'failed' });
  });

  test('that was given up is what its job ends as, however the others went', () => {
    const last = position({ index: 2, spoiled: 'exhausted' });
    expect(settle(last, { kind: 'delivered' }, now, 0)).toEqual({
      kind: 'job-ended',
      state: 'exhausted',
      single: false,
    });
    expect(settle(position({ index: 2 }), { kind: 'delivered' }, now, 0)).toMatchObject({
      state: 'delivered',
    });
  });

  test('does not wait into the last half hour before its deadline: those behind it have their turn', () => {
    const deadline = now + LAST_CALL_MS + 5_000;
    expect(settle(position({}, { deadline }), { kind: 'retry' }, now, 0.4)).toEqual({
      kind: 'wait',
      until: now + 4_000,
    });
    expect(settle(position({}, { deadline }), { kind: 'retry' }, now, 0.6)).toEqual({
      kind: 'next-event',
      single: true,
      spoiled: 'expired',
    });
  });

  test('pauses or stops its config whatever its number', () => {
    for (const attempts of [1, 8]) {
      expect(
        settle(position({ attempts }), { kind: 'pause', reason: 'authentication_failed' }, now, 0),
      ).toEqual({ kind: 'halt', state: 'paused', reason: 'authentication_failed' });
      expect(settle(position({ attempts }), { kind: 'stop', reason: 'gone' }, now, 0)).toMatchObject({
        state: 'stopped',
      });
    }
  });

  test.each([
    ['delivered', true, false],
    ['exhausted', false, true],
    ['failed', true, true],
    ['failed', false, false],
    ['expired', true, true],
  ] as const)('behind a job found %s (single %j) has a single attempt: %j', (state, single, then) => {
    expect(passOver(state, single)).toEqual({ kind: 'job-ended', state, single: then });
  });

  test('whose exchange was cut off by us is tried again', () => {
    const outcome: Outcome = { kind: 'aborted' };
    expect(judge(outcome, now)).toEqual({ kind: 'retry' });
  });
});

describe('a revision', () => {
  test('has one job for each config that was registered before it (P3)', () => {
    const configs = [0, 1, 2, 3].map((fence) => ({ id: `after${fence}`, fence }));
    const revision = { revision: 2, statusAt: now } as Revision;
    const jobs = jobsOf({ task: 't', configs } as unknown as Head, revision);
    expect(jobs).toMatchObject(
      ['after0', 'after1'].map((id) => ({
        kind: 'put',
        item: {
          sk: `J#${id}#00000002`,
          state: 'open',
          deadline: now + 24 * HOUR,
          da: String(now + 60_000).padStart(14, '0'),
        },
        when: [{ attribute: 'pk', is: 'absent' }],
      })),
    );
    expect(jobs).toHaveLength(2);
  });
});

describe('a due job', () => {
  const job: Job = { task: 't', config: 'c', revision: 3, state: 'open', deadline: now + HOUR };
  const config = {
    state: 'active',
    revision: 3,
    standing: { index: 0, attempts: 0, single: false },
  } as unknown as Config;

  test.each([
    ['that is over', { ...job, state: 'delivered' }, config, { kind: 'nothing' }],
    ['of a deleted config', job, undefined, { kind: 'end', state: 'superseded' }],
    ['of a stopped config', job, { ...config, state: 'stopped' }, { kind: 'end', state: 'superseded' }],
    ['behind the progress', { ...job, revision: 2 }, config, { kind: 'end', state: 'superseded' }],
    ['of an active config', job, config, { kind: 'wake', at: now + 60_000 }],
    ['of a paused config', job, { ...config, state: 'paused' }, { kind: 'hold', at: now + 900_000 }],
    [
      'of a paused config, past its deadline',
      { ...job, deadline: now },
      { ...config, state: 'paused' },
      { kind: 'end', state: 'expired' },
    ],
    [
      'of a paused config, near its deadline',
      { ...job, deadline: now + 1_000 },
      { ...config, state: 'paused' },
      { kind: 'hold', at: now + 1_000 },
    ],
    [
      'whose config waits',
      job,
      { ...config, standing: { ...config.standing, notBefore: now + HOUR } },
      { kind: 'wait', at: now + HOUR },
    ],
    [
      'whose config waits for a moment',
      job,
      { ...config, standing: { ...config.standing, notBefore: now + 1_000 } },
      { kind: 'wait', at: now + 60_000 },
    ],
    // A retry stands outside the order, with a due time of its own.
    [
      'that is a retry behind the progress',
      { ...job, revision: 1, retry: { id: 'r', standing: { index: 0, attempts: 1, single: false } } },
      { ...config, standing: { ...config.standing, notBefore: now + HOUR } },
      { kind: 'wake', at: now + 60_000 },
    ],
    [
      'that is a waiting retry',
      {
        ...job,
        retry: { id: 'r', standing: { index: 0, attempts: 1, single: false, notBefore: now + HOUR } },
      },
      config,
      { kind: 'wait', at: now + HOUR },
    ],
  ])('%s', (_, due, of, need) => {
    expect(jobNeed(due as Job, of as Config | undefined, now)).toEqual(need);
  });
});

describe('a message of the outbox queue', () => {
  test.each([
    [{ task: 't', config: 'c' }],
    [{ task: 't', config: 'c', due: now }],
    [{ task: 't', config: 'c', retry: { id: 'r', revision: 2 } }],
  ])('%j is read', (body) => {
    expect(outboxMessageOf(body)).toEqual(body);
  });
  test.each([
    [undefined],
    [null],
    ['t'],
    [{}],
    [{ task: 't' }],
    [{ task: '', config: 'c' }],
    [{ task: 't', config: 1 }],
    [{ task: 't', config: 'c', retry: {} }],
    [{ task: 't', config: 'c', retry: { id: 'r', revision: 0 } }],
  ])('%j is none of ours', (body) => {
    expect(outboxMessageOf(body)).toBeUndefined();
  });
});

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../infra/cli/program.ts';
import {
  type A2AFailure,
  type InvalidParamsReason,
  toWireError,
  type UnsupportedReason,
} from '../../shared/protocol/errors.ts';
import type { reasonMessage } from '../../shared/tasks/reasons.ts';
import { fences, namesIn, root, tableOf } from './document.ts';

/** One failure of each kind: a new kind does not compile until it stands here, and then the README has to name it. */
const failures: { readonly [K in A2AFailure['kind']]: Extract<A2AFailure, { kind: K }> } = {
  'parse-error': { kind: 'parse-error' },
  'invalid-request': { kind: 'invalid-request' },
  'method-not-found': { kind: 'method-not-found' },
  'invalid-params': { kind: 'invalid-params', violations: [] },
  internal: { kind: 'internal', correlationId: '' },
  'task-not-found': { kind: 'task-not-found' },
  'task-not-cancelable': { kind: 'task-not-cancelable' },
  'push-not-supported': { kind: 'push-not-supported' },
  'unsupported-operation': { kind: 'unsupported-operation' },
  'content-type-not-supported': { kind: 'content-type-not-supported' },
  'invalid-agent-response': { kind: 'invalid-agent-response' },
  'extended-card-not-configured': { kind: 'extended-card-not-configured' },
  'extension-support-required': { kind: 'extension-support-required', missing: [] },
  'version-not-supported': { kind: 'version-not-supported' },
  unauthenticated: { kind: 'unauthenticated' },
  forbidden: { kind: 'forbidden' },
  'body-too-large': { kind: 'body-too-large', limitBytes: 1 },
  'media-type-not-json': { kind: 'media-type-not-json' },
  'quota-exceeded': { kind: 'quota-exceeded', retryAfterSeconds: 1 },
  unavailable: { kind: 'unavailable' },
};
const unsupported: Readonly<Record<UnsupportedReason, true>> = {
  TASK_TERMINAL: true,
  TASK_WORKING: true,
  TASK_SUBMITTED: true,
  AWAITING_APPROVAL: true,
  TASK_FULL: true,
  RESULT_NOT_RETAINABLE: true,
  STREAM_EXHAUSTED: true,
  STREAMING_DISABLED: true,
  EXTENDED_CARD_DISABLED: true,
};
const invalid: Readonly<Record<InvalidParamsReason, true>> = {
  MESSAGE_ID_REUSED: true,
  TOO_MANY_PUSH_CONFIGS: true,
  PAGE_TOKEN_INVALID: true,
};

const known: readonly A2AFailure[] = [
  ...Object.values(failures),
  ...(Object.keys(unsupported) as UnsupportedReason[]).map(
    (reason): A2AFailure => ({ kind: 'unsupported-operation', reason }),
  ),
  ...(Object.keys(invalid) as InvalidParamsReason[]).map(
    (reason): A2AFailure => ({ kind: 'invalid-params', reason, violations: [] }),
  ),
];

/** Reasons of a task that the gateway itself ended or suspended, by the words that clients read. */
type TaskReason = Parameters<typeof reasonMessage>[3];
const taskReasons: Readonly<Record<TaskReason, true>> = {
  EXECUTION_FAILED: true,
  DEADLINE_EXCEEDED: true,
  INPUT_EXPIRED: true,
  RESULT_TOO_LARGE: true,
  TOO_MANY_MESSAGES: true,
  TOO_MANY_TURNS: true,
  TOO_MANY_HOPS: true,
  RESULT_NOT_RETAINED: true,
  APPROVAL_REQUIRED: true,
  APPROVAL_EXPIRED: true,
  APPROVAL_REJECTED: true,
};

describe('the README as a reference', () => {
  it('lists every error with its code, reasons and HTTP status, and no other', () => {
    const listed = tableOf('code', 'reason', 'HTTP').map(([code, reason, status]) =>
      [code, ...namesIn(reason), status].join(' '),
    );
    const built = known
      .map(toWireError)
      .map(({ code, reason, ownReason, httpStatus }) =>
        [code, reason, ...(ownReason ? [ownReason] : []), httpStatus].join(' '),
      );
    expect(new Set(listed)).toEqual(new Set(built));
  });

  it('lists every reason that a task can carry, and no other', () => {
    expect(tableOf('reason', 'meaning').map(([reason]) => namesIn(reason)[0])).toEqual(
      Object.keys(taskReasons),
    );
  });

  it('lists every command of administrators, and no other', async () => {
    const help = async (...words: readonly string[]): Promise<string[]> => {
      let text = '';
      const around = {
        write: (written: string) => {
          text += written;
        },
        writeError: () => {},
        readInput: async () => '',
        environment: {},
        folder: root,
      };
      await runCommandLine([...words, '--help'], around);
      const commands = text.split(/^Commands:$/m)[1] ?? '';
      return [...commands.matchAll(/^ {2}([a-z]+)/gm)]
        .map(([, name = '']) => name)
        .filter((name) => name !== 'help');
    };
    const existing: string[] = [];
    for (const group of await help()) {
      for (const command of await help(group)) existing.push(`${group} ${command}`);
    }
    const listed = tableOf('command', 'what it does').flatMap(([cell]) =>
      namesIn(cell).map((usage) => usage.split(' ').slice(0, 2).join(' ')),
    );
    expect(new Set(listed)).toEqual(new Set(existing));
  });

  it('shows what guard check answers', async () => {
    const [shown, answer] = fences.filter(({ info }) => info.endsWith(' check'));
    const words = shown?.text.trim().split(' ').slice(5) ?? [];
    const text: string[] = [];
    const around = {
      write: (written: string) => void text.push(written),
      writeError: () => {},
      readInput: async () => '',
      environment: {},
      folder: root,
    };
    expect(await runCommandLine(words, around)).toBe(1);
    expect(text.join('')).toBe(answer?.text);
  });

  it('lists every metric with its unit, and no other', () => {
    const sources = globSync(['shared/**/*.ts', 'functions/**/*.ts'], { cwd: root });
    const written = sources.flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(/\.(count|milliseconds)\(\s*([^)]*?)[,)]/g),
      ].flatMap(([, unit, argument = '']) =>
        [...argument.matchAll(/'([A-Z]\w+)'/g)].map(
          ([, name]) => `${name} ${unit === 'count' ? unit : 'ms'}`,
        ),
      ),
    );
    const listed = tableOf('metric', 'unit').flatMap(([names, unit]) =>
      namesIn(names).map((name) => `${name} ${unit}`),
    );
    expect([...new Set(listed)].sort()).toEqual([...new Set(written)].sort());
  });

  it('gives every dependency a reason, and pins each to one version', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
      'dependencies' | 'devDependencies' | 'optionalDependencies',
      Record<string, string>
    >;
    const all = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };
    const rows = tableOf('package', 'update', 'why');
    expect(rows.map(([name]) => namesIn(name)[0]).sort()).toEqual(Object.keys(all).sort());
    for (const [name, update, why] of rows) {
      expect(update, name).not.toBe('');
      expect(why, name).not.toBe('');
    }
    for (const [name, version] of Object.entries(all)) expect(version, name).toMatch(/^\d+\.\d+\.\d+$/);
  });
});

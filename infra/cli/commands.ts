import { type Command, Option } from 'commander';
import { parse } from 'yaml';
import { settingsFields } from '../../shared/registry/index.ts';
import { CommandFailure } from './command-failure.ts';
import { readInputFile, readSecretFile } from './input-file.ts';
import type { Bar } from './progress.ts';
import { type Row, record, table } from './render.ts';
import type { Surroundings } from './surroundings.ts';
import type { Target } from './target.ts';
import { tightening, tightens } from './tightening.ts';

/** What a command asks of the gateway, and how its result reads. */
export interface Request {
  readonly operation: string;
  readonly input: object;
  readonly show: (result: Row) => string;
  /** Goes on asking with what came back, until it gives the result that is shown. */
  readonly follow?: (result: Row, target: Target) => Promise<Row>;
  /** The exit code, where a result can say that something is wrong. */
  readonly code?: (result: Row) => number;
}

export interface CommandParts {
  readonly around: Surroundings;
  /** How far something is, where it takes its time. */
  readonly bar: Bar;
  /** A command of a group, with the options that every command has; `ask` makes the request of what was typed. */
  readonly command: (
    group: string,
    usage: string,
    description: string,
    ask: (words: readonly string[], options: Readonly<Record<string, unknown>>) => Request | Promise<Request>,
  ) => Command;
}

/** What a command did by itself, without a gateway. */
export interface LocalResult {
  readonly result: Row;
  readonly code: number;
  readonly show: () => string;
}

/** A command of a group that asks no gateway: it has `--json` and options of its own. */
export type LocalCommand = (
  group: string,
  usage: string,
  description: string,
  run: (words: readonly string[], options: Readonly<Record<string, unknown>>) => Promise<LocalResult>,
) => Command;

const token = 'The token is shown this once and not stored; keep it where the client reads it:';

export function addClientCommands({ command }: CommandParts): void {
  const change = (
    verb: string,
    description: string,
    more = '',
    input: (words: readonly string[]) => object = () => ({}),
  ) =>
    command('client', `${verb} <id>${more}`, description, ([id, ...words]) => ({
      operation: `client.${verb}`,
      input: { id, ...input(words) },
      show: showClient,
    }));

  command('client', 'add <name>', 'register a client and print its token', ([name], options) => ({
    operation: 'client.add',
    input: { name, ...given(options, { id: 'id', profile: 'profiles' }) },
    show: showClient,
  }))
    .option('--id <id>', 'instead of one of ours: 4 to 32 lower-case letters and digits')
    .option('--profile <id...>', 'profiles it may use; * for all published ones');
  command('client', 'list', 'list the clients', () => ({
    operation: 'client.list',
    input: {},
    show: ({ clients }) =>
      table(
        ['id', 'name', 'disabled', 'profiles', 'tokens', 'createdAt'],
        rows(clients).map((client) => ({ ...client, tokens: rows(client['tokens']).length })),
      ),
  }));
  change('disable', 'refuse a client, at once');
  change('enable', 'let a disabled client in again');
  change('grant', 'let a client use profiles', ' <profile...>', (profiles) => ({ profiles }));
  change('revoke', 'take profiles from a client', ' <profile...>', (profiles) => ({ profiles }));
  command(
    'client',
    'webhooks <id>',
    'open ports to the webhooks of a client, or keep them to some hosts',
    ([id], options) => ({
      operation: 'client.webhooks',
      input: {
        id,
        ...(Array.isArray(options['port']) && { ports: options['port'].map(Number) }),
        ...(options['anyHost'] ? { hosts: null } : given(options, { host: 'hosts' })),
      },
      show: showClient,
    }),
  )
    .option('--port <number...>', 'the ports besides 443, in place of those before; 443 alone for none')
    .addOption(
      new Option('--host <name...>', 'the only hosts, in place of those before').conflicts('anyHost'),
    )
    .option('--any-host', 'any public host again');
  command(
    'client',
    'rotate <id>',
    'give a client a second token, or drop the older one',
    ([id], options) => ({
      operation: 'client.rotate',
      input: { id, ...given(options, { dropOld: 'dropOld' }) },
      show: showClient,
    }),
  ).option('--drop-old', 'drop the older of two tokens');
}

export function addProfileCommands(parts: CommandParts): void {
  const { command, around } = parts;
  const change = (verb: string, description: string) =>
    command('profile', `${verb} <id>`, description, ([id]) => ({
      operation: `profile.${verb}`,
      input: { id },
      show: ({ profile }) => record(profile as Row),
    }));

  const put = command(
    'profile',
    'put <file>',
    'save a profile (JSON or YAML; - for the standard input)',
    async ([file = ''], options) => {
      const request = {
        operation: 'profile.put',
        input: { profile: await readInputFile(file, around), ...edition(options) },
        show: ({ profile }: Row) => record(profile as Row),
      };
      return tightening(parts, request, options);
    },
  );
  tightens(put.option('--if-edition <number>', 'only if nobody saved it since this edition'));
  command('profile', 'list', 'list the profiles', () => ({
    operation: 'profile.list',
    input: {},
    show: ({ profiles }) =>
      table(
        ['id', 'name', 'version', 'providers', 'published', 'public', 'answerLevel', 'edition'],
        rows(profiles),
      ),
  }));
  change('publish', 'offer a profile to clients');
  change('unpublish', 'withdraw a profile');
}

export function addProviderCommands(parts: CommandParts): void {
  const { command, around } = parts;
  const put = command(
    'provider',
    'put <file>',
    'save a provider (JSON or YAML; - for the standard input)',
    async ([file = ''], options) => {
      const provider = await readInputFile(file, around);
      const secret = await secretOf(options, around);
      const request = {
        operation: 'provider.put',
        // What is no object is left as it is, for the gateway to refuse.
        input: {
          provider: secret !== undefined && isRow(provider) ? { ...provider, apiKey: secret } : provider,
          ...edition(options),
        },
        show: (result: Row) => record(result['provider'] as Row),
      };
      return tightening(parts, request, options);
    },
  )
    .option('--secret-file <file>', 'take apiKey from a file')
    .option('--secret-env <name>', 'take apiKey from an environment variable')
    .option('--if-edition <number>', 'only if nobody saved it since this edition');
  tightens(put);
  command('provider', 'list', 'list the providers', () => ({
    operation: 'provider.list',
    input: {},
    show: ({ providers }) =>
      table(
        [
          'id',
          'kind',
          'model',
          'baseUrl',
          'functionName',
          'apiKey',
          'answerLevel',
          'timeoutSeconds',
          'edition',
        ],
        rows(providers),
      ),
  }));
}

export function addSettingsCommands(parts: CommandParts): void {
  const { command, around } = parts;
  command('settings', 'show', 'show the settings', () => ({
    operation: 'settings.show',
    input: {},
    show: showSettings,
  }));
  const set = command(
    'settings',
    'set <change...>',
    'change settings: key=value (key= for the default), or a file',
    async (words, options) => {
      const isFile = words.length === 1 && !words[0]!.includes('=');
      const settings = isFile ? await readInputFile(words[0]!, around) : assignments(words);
      const request = { operation: 'settings.set', input: { settings }, show: showSettings };
      return tightening(parts, request, options);
    },
  );
  tightens(set);
}

export function addTaskCommands({ command }: CommandParts): void {
  const one = (verb: string, description: string) =>
    command('task', `${verb} <id>`, description, ([id]) => ({
      operation: `task.${verb}`,
      input: { id },
      show: record,
    }));
  one('show', 'show states, revisions, sizes and times of a task');
  one('rebuild', 'make view and journal of a task anew from its committed state');
  command('task', 'repair', 'do for every task what its committed state still needs', () => ({
    operation: 'task.repair',
    input: {},
    show: record,
  }));
}

function showClient({ client, token: secret }: Row): string {
  const shown = record({
    ...(client as Row),
    tokens: rows((client as Row)['tokens']).map(({ createdAt }) => createdAt),
  });
  return secret === undefined ? shown : `${shown}\n${token}\n\n  ${secret}\n`;
}

function showSettings({ settings, set }: Row): string {
  const own = new Set(Array.isArray(set) ? set : []);
  const lines = Object.entries(settings as Row).map(([setting, value]) => ({
    setting,
    value,
    source: own.has(setting) ? 'set' : 'default',
  }));
  return table(['setting', 'value', 'source'], lines);
}

/** `key=value`: a text where the setting takes the text as it stands, else what YAML reads in it. */
function assignments(words: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    words.map((word) => {
      const [, key, value] = /^([A-Za-z]+)=(.*)$/s.exec(word) ?? [];
      if (key === undefined || value === undefined)
        throw new CommandFailure('USAGE', 'a change of settings is written key=value');
      if (value === '') return [key, null];
      const field = Object.hasOwn(settingsFields, key)
        ? settingsFields[key as keyof typeof settingsFields]
        : undefined;
      return [key, field?.safeParse(value).success ? value : scalar(value)];
    }),
  );
}

function scalar(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return text;
  }
}

export async function secretOf(
  options: Readonly<Record<string, unknown>>,
  around: Surroundings,
  /** Under which names the options stand, and which field of the gateway the secret is for. */
  names = { file: 'secretFile', env: 'secretEnv', field: 'apiKey' },
): Promise<string | undefined> {
  const { [names.file]: file, [names.env]: variable } = options;
  if (typeof file === 'string') return readSecretFile(file, around);
  if (typeof variable !== 'string') return undefined;
  const secret = around.environment[variable];
  if (!secret)
    throw new CommandFailure('USAGE', `the environment variable ${variable} is not set`, names.field);
  return secret;
}

function edition(options: Readonly<Record<string, unknown>>): object {
  const text = options['ifEdition'];
  return text === undefined ? {} : { ifEdition: Number(text) };
}

/** The words of an option that takes several; none where it was not given. */
export function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** The options that were given, under the names that the gateway has for them. */
export function given(
  options: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
): object {
  return Object.fromEntries(
    Object.entries(names).flatMap(([option, name]) =>
      options[option] === undefined ? [] : [[name, options[option]]],
    ),
  );
}

export function rows(value: unknown): readonly Row[] {
  return Array.isArray(value) ? (value as Row[]) : [];
}

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

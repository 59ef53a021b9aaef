import { type Command, Option } from 'commander';
import { CommandFailure } from './command-failure.ts';
import { type CommandParts, given, isRow, rows, secretOf } from './commands.ts';
import { readInputFile, readSecretFile } from './input-file.ts';
import { type Row, record, table } from './render.ts';
import type { Surroundings } from './surroundings.ts';

const columns = ['id', 'name', 'interface', 'push', 'credential', 'disabled', 'cardReadAt'];
export const credentialNames = { file: 'credentialFile', env: 'credentialEnv', field: 'credential' };

export function withCredential(added: Command): Command {
  return added
    .addOption(
      new Option(
        '--credential-file <file>',
        'take the bearer credential from a file; - for the standard input',
      ).conflicts('credentialEnv'),
    )
    .option('--credential-env <name>', 'take the bearer credential from an environment variable');
}

/** Remote agents of the client role (design §8). A credential is taken from a file, a variable or the input, never a word. */
export function addAgentCommands({ command, around }: CommandParts): void {
  const one = (verb: string, description: string, show: (result: Row) => string = showAgent) =>
    command('agent', `${verb} <id>`, description, ([id]) => ({
      operation: `agent.${verb}`,
      input: { id },
      show,
    }));
  withCredential(
    command(
      'agent',
      'add <id>',
      'read the card of a remote agent and register it',
      async ([id], options) => ({
        operation: 'agent.add',
        input: { agent: { ...(await described(options, around)), id } },
        show: showAgent,
      }),
    )
      .option('--card <url>', "the card's URL; of a host alone, the place where cards stand")
      .option(
        '--file <file>',
        'fields of the agent from a file (JSON or YAML); an option goes before what it says',
      )
      .option('--name <name>', 'instead of the name that the card has')
      .option('--description <text>', 'instead of the description that the card has; models read it')
      .option('--push <mode>', 'embedded (default), separate or off')
      .option('--allow-origin <origin...>', 'origins besides the card’s that its interface may have')
      .option('--trusted-host <name...>', 'hosts that may have private addresses')
      .option('--port <number...>', 'ports open besides 443')
      .option('--card-key <file>', 'the public key (JWK) that its card must be signed with')
      .option('--wait <seconds>', 'how long a step may take before it is given up'),
  );
  command('agent', 'list', 'list the remote agents', () => ({
    operation: 'agent.list',
    input: {},
    show: ({ agents }) => table(columns, rows(agents).map(flat)),
  }));
  one('show', 'show a remote agent and the providers that name it', (result) =>
    record({ ...flat(result['agent'] as Row), providers: result['providers'] }),
  );
  command(
    'agent',
    'test <id>',
    'read the card and ask for a task that nobody has; exit code 1 if something is wrong',
    ([id]) => ({
      operation: 'agent.test',
      input: { id },
      show: ({ checks, ...rest }) => record({ ...rest, checks }),
      code: ({ ok }) => (ok === true ? 0 : 1),
    }),
  );
  one('refresh', 'read the card anew and pin the interface that it offers now', ({ agent, ...rest }) =>
    record({ ...flat(agent as Row), ...rest, warnings: undefined }),
  );
  command('agent', 'set <id>', 'change how steps are handed to a remote agent', ([id], options) => ({
    operation: 'agent.set',
    input: { id, ...given(options, { push: 'push' }), ...originsOf(options) },
    show: showAgent,
  }))
    .option('--push <mode>', 'embedded, separate or off')
    .option('--allow-origin <origin...>', 'instead of those that were allowed; none: the card’s alone');
  one('disable', 'hand nothing more to a remote agent, and end its steps as failed');
  one('enable', 'let runs hand steps to it again');
  withCredential(
    command('agent', 'rotate <id>', 'replace the credential of a remote agent', async ([id], options) => {
      const credential = await secretOf(options, around, credentialNames);
      return {
        operation: 'agent.rotate',
        input: {
          id,
          credential: credential ?? (await readSecretFile('-', around)),
        },
        show: showAgent,
      };
    }),
  );
  one('remove', 'forget a remote agent that no provider names', record);
}

function originsOf({ allowOrigin }: Readonly<Record<string, unknown>>) {
  if (!Array.isArray(allowOrigin)) return {};
  return { allowedOrigins: allowOrigin.length === 1 && allowOrigin[0] === 'none' ? [] : allowOrigin };
}

async function described(
  options: Readonly<Record<string, unknown>>,
  around: Surroundings,
): Promise<Readonly<Record<string, unknown>>> {
  const { file, port, wait, cardKey } = options;
  const fromFile = typeof file === 'string' ? await readInputFile(file, around) : {};
  if (!isRow(fromFile)) throw new CommandFailure('FILE', `${String(file)} must hold named fields`);
  const credential = await secretOf(options, around, credentialNames);
  return {
    ...fromFile,
    ...given(options, {
      card: 'cardUrl',
      name: 'name',
      description: 'description',
      push: 'push',
      allowOrigin: 'allowedOrigins',
      trustedHost: 'trustedHosts',
    }),
    ...(Array.isArray(port) ? { allowedPorts: port.map(Number) } : {}),
    ...(wait === undefined ? {} : { waitSeconds: Number(wait) }),
    ...(typeof cardKey === 'string' ? { cardKey: await readPublicKey(cardKey, around) } : {}),
    ...(credential === undefined ? {} : { credential }),
  };
}

/** A JWK, or a key set that holds one. A private key is not even sent to the gateway. */
async function readPublicKey(file: string, around: Surroundings): Promise<unknown> {
  const read = await readInputFile(file, around);
  const [only, ...others] = isRow(read) && Array.isArray(read['keys']) ? (read['keys'] as unknown[]) : [read];
  if (others.length > 0)
    throw new CommandFailure('FILE', `${file} holds several keys; write the one that is meant`, 'cardKey');
  if (isRow(only) && 'd' in only)
    throw new CommandFailure('FILE', `${file} holds a private key; give the public one only`, 'cardKey');
  return only;
}

function showAgent({ agent }: Row): string {
  return record(flat(agent as Row));
}

/** The interface in one cell. */
function flat(agent: Row): Row {
  const target = agent['interface'] as Row | undefined;
  const { tenant, url } = target ?? {};
  return { ...agent, interface: tenant === undefined ? url : `${String(url)} (tenant ${String(tenant)})` };
}

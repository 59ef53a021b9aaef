import type { CheckResult, Refused } from '../../shared/guard/index.ts';
import { CommandFailure } from './command-failure.ts';
import { type LocalCommand, type LocalResult, listOf } from './commands.ts';
import { record } from './render.ts';
import type { Surroundings } from './surroundings.ts';

/** Exit codes of `guard check`; `retry` refuses nothing and allows nothing: the name has no addresses now. */
const EXIT: Readonly<Record<CheckResult['verdict'], number>> = { allow: 0, refuse: 1, retry: 2 };

/** `guard check` runs here, on the guard that webhooks go through; it needs no gateway and sends nothing to the URL. */
export function addGuardCommands(local: LocalCommand, around: Surroundings): void {
  local(
    'guard',
    'check <url>',
    'say whether a webhook may have this URL: exit code 0 allow, 1 refuse, 2 no address now',
    ([url = ''], options) => check(url, options, around),
  )
    .option('--resolve <addresses>', 'judge these answers, comma-separated, instead of asking DNS')
    .option('--port <number...>', 'ports opened for the client besides 443')
    .option('--host <name...>', 'the only hosts that the client may have')
    .option('--own-host <name...>', 'hosts of the gateway itself');
}

async function check(
  url: string,
  options: Readonly<Record<string, unknown>>,
  around: Surroundings,
): Promise<LocalResult> {
  // Loaded only here: no other command needs an HTTP client of ours.
  const { createGuard } = await import('../../shared/guard/index.ts');
  const { resolver } = around;
  const guard = createGuard({ ownHosts: listOf(options['ownHost']), ...(resolver && { resolver }) });
  const hosts = listOf(options['host']);
  const policy = {
    purpose: 'webhook',
    allowedPorts: listOf(options['port']).map(readPort),
    ...(hosts.length > 0 && { allowHosts: hosts }),
  } as const;
  const given = options['resolve'];
  const answers = typeof given === 'string' ? answersOf(given) : undefined;
  const result = await guard.check(url, policy, answers && { resolve: answers });
  return {
    result: { ...result },
    code: EXIT[result.verdict],
    show: () => record({ ...result, why: why(result) }),
  };
}

function why(result: CheckResult): string {
  switch (result.verdict) {
    case 'allow':
      return 'a webhook may have this URL';
    case 'refuse':
      return reasons[result.rule];
    case 'retry':
      return 'the name has no addresses now; a delivery would be tried again later';
  }
}

const reasons: Readonly<Record<Refused['rule'], string>> = {
  length: 'longer than a URL or a name may be',
  charset: 'has characters other than visible ASCII; write an international name in its xn-- form',
  backslash: 'has a backslash, which parsers read differently',
  fragment: 'has a fragment, which is never sent',
  scheme: 'is not https',
  shape: 'is not written as https://name/path',
  userinfo: 'has user information before the host',
  'encoded-authority': 'has percent-encoding in its host',
  literal: 'has an address for a host; only names are allowed',
  'trailing-dot': 'has a host that ends in a dot',
  hostname: 'has a host that is no host name',
  'single-label': 'has a host of one label, which leads wherever a search domain does',
  'special-use': 'has a host under a name that is reserved or private',
  port: 'has a port that is not open for the client (client webhooks --port)',
  'own-host': 'leads back to this gateway',
  'not-allowed': 'has a host that is not on the list of the client (client webhooks --host)',
  address: 'has an address that is not public',
  'too-many-answers': 'has more than 32 addresses',
  header: 'is sent with a header that must not be set',
  credential: 'is sent with a credential that no header can carry',
  pinning: 'was connected to an address that was not vetted',
};

/** As they are written, spaces too; nothing at all is a name without answers. */
function answersOf(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^[1-9]\d{0,4}$/.test(text) && port <= 65_535) return port;
  throw new CommandFailure('USAGE', '--port must be a number from 1 to 65535', 'port');
}

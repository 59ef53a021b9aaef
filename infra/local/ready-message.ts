import type { Host } from './host.ts';

type Ready = Pick<Host, 'url' | 'cardUrl' | 'token' | 'adminToken'>;

/** What scripts read: one line of JSON. */
export function readyLine({ url, cardUrl, token }: Ready): string {
  return `${JSON.stringify({ url, cardUrl, token })}\n`;
}

/** What people read, with a command for each of two tools that works when pasted into a shell. */
export function greeting(host: Ready, dataDir: string | undefined): string {
  return host.token === '' ? withoutClients(host, dataDir) : serving(host, dataDir);
}

/** Without the server role nobody sends messages; administrators start runs. */
function withoutClients(host: Ready, dataDir: string | undefined): string {
  return [
    '',
    `  Sealpost is ready at ${host.url}, without the server role`,
    '',
    `  Data          ${dataDir ?? 'in memory (keep it with --data <dir>)'}`,
    `  Start a run   ${administer(host, dataDir, "run start echo --message 'Hello!'")}`,
    '',
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n');
}

function serving(host: Ready, dataDir: string | undefined): string {
  return [
    '',
    `  Sealpost is ready at ${host.url}`,
    '',
    `  Agent card    ${host.cardUrl}`,
    `  Client token  ${host.token}`,
    `  Data          ${dataDir ?? 'in memory (keep it with --data <dir>)'}`,
    `  Administer    ${administer(host, dataDir)}`,
    '',
    '  Send a message with curl:',
    '',
    curlLine(host),
    '',
    '  or with Node:',
    '',
    nodeLine(host),
    '',
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n');
}

/** The id is new with each second: the same one again would answer the same task. */
export function curlLine({ url, token }: Ready): string {
  const body = JSON.stringify(request('MESSAGE_ID')).replace('MESSAGE_ID', `hello-'$(date +%s)'`);
  return [
    `curl -s ${url}/rpc -H 'Authorization: Bearer ${token}' -H 'A2A-Version: 1.0'`,
    `-H 'Content-Type: application/json' -d '${body}'`,
  ].join(' ');
}

export function nodeLine({ url, token }: Ready): string {
  const body = JSON.stringify(request('MESSAGE_ID')).replace('"MESSAGE_ID"', 'crypto.randomUUID()');
  const headers = {
    Authorization: `Bearer ${token}`,
    'A2A-Version': '1.0',
    'Content-Type': 'application/json',
  };
  const init = `{method:"POST",headers:${JSON.stringify(headers)},body:JSON.stringify(${body})}`;
  return `node -e 'fetch("${url}/rpc",${init}).then(r=>r.json()).then(r=>console.log(JSON.stringify(r,null,2)))'`;
}

function request(messageId: string) {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'Hello!' }] };
  return { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
}

function administer({ url, adminToken }: Ready, dataDir: string | undefined, what = 'client list'): string {
  return dataDir === undefined
    ? `SEALPOST_ADMIN_TOKEN=${adminToken} npm run admin -- ${what} --url ${url}`
    : `npm run admin -- ${what} --data ${dataDir}`;
}

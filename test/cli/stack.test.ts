import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AdminEndpoint, type Received, startAdminEndpoint } from './admin-endpoint.ts';

const accessKey = 'AKIDEXAMPLE';
const secretKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

let endpoint: AdminEndpoint;
let outputs: string;
let cloudFormation: ReturnType<typeof createServer>;
let environment: Record<string, string>;

beforeEach(async () => {
  endpoint = await startAdminEndpoint();
  endpoint.admits = isSigned;
  outputs = `<member><OutputKey>AdminUrl</OutputKey><OutputValue>${endpoint.url}/prod/admin</OutputValue></member>`;
  cloudFormation = createServer(async (request, response) => {
    const asked = new URLSearchParams(await text(request));
    const known = asked.get('Action') === 'DescribeStacks' && asked.get('StackName') === 'gateway';
    response.writeHead(known ? 200 : 400, { 'content-type': 'text/xml' });
    response.end(
      known
        ? `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member><StackName>gateway</StackName><CreationTime>2026-11-30T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${outputs}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
        : '<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id other does not exist</Message></Error></ErrorResponse>',
    );
  });
  await new Promise<void>((resolve) => cloudFormation.listen(0, '127.0.0.1', resolve));
  environment = {
    AWS_ENDPOINT_URL_CLOUDFORMATION: `http://127.0.0.1:${(cloudFormation.address() as AddressInfo).port}`,
  };
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKey);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretKey);
  vi.stubEnv('AWS_SESSION_TOKEN', undefined);
  vi.stubEnv('AWS_PROFILE', undefined);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  cloudFormation.closeAllConnections();
  await new Promise((resolve) => cloudFormation.close(resolve));
  await endpoint[Symbol.asyncDispose]();
});

const run = (...words: string[]) =>
  endpoint.run([...words, '--region', 'eu-central-1', '--json'], { environment });

describe('a deployed gateway', () => {
  it('is found by the output of its stack and gets a request that IAM can verify', async () => {
    const added = await run('client', 'add', 'Acme & Söhne', '--stack', 'gateway');
    expect(added).toMatchObject({ code: 0, err: '', out: expect.stringContaining('"name":"Acme & Söhne"') });
    const [request] = endpoint.requests;
    expect(request?.path).toBe('/prod/admin');
    expect(isSigned({ ...request!, body: request!.body.replace('Acme', 'Evil') })).toBe(false);
  });

  it('that is none is told apart from a stack that is not there', async () => {
    outputs = '';
    const other = JSON.parse((await run('client', 'list', '--stack', 'gateway')).out);
    expect(other).toMatchObject({
      error: { code: 'NO_TARGET', message: expect.stringContaining('no output AdminUrl') },
    });
    const missing = JSON.parse((await run('client', 'list', '--stack', 'other')).out);
    expect(missing).toMatchObject({
      error: { code: 'NO_TARGET', message: expect.stringContaining('does not exist') },
    });
  });
});

/** Signature version 4 as the documentation writes it, for the one request that is made here. */
function isSigned({ method, path, headers, body }: Received): boolean {
  const match = /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
    headers.authorization ?? '',
  );
  const [, credential = '', names = '', signature] = match ?? [];
  const [id, day = '', region = '', service = '', end] = credential.split('/');
  if (id !== accessKey || region !== 'eu-central-1' || service !== 'execute-api' || end !== 'aws4_request')
    return false;
  if (!names.split(';').includes('host')) return false;
  const sha256 = (value: string) => createHash('sha256').update(value).digest('hex');
  const hmac = (secret: string | Buffer, value: string) =>
    createHmac('sha256', secret).update(value).digest();
  const signed = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, path, '', signed.join(''), names, sha256(body)].join('\n');
  const scope = [day, region, service, 'aws4_request'].join('/');
  const toSign = ['AWS4-HMAC-SHA256', String(headers['x-amz-date']), scope, sha256(canonical)].join('\n');
  const signingKey = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretKey}`);
  return hmac(signingKey, toSign).toString('hex') === signature;
}

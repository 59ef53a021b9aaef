import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The `a2a.proto` of tag v1.0.1. The file itself is not part of this repository, its facts are. */
export const PINNED_SHA256 = 'e195bf96ab630c69797851970203e1b2b6b19528f2e9803b7d904b91a5104016';

/** Thrown when the given file is not the pinned one. */
export class WrongProtoError extends Error {}

export interface DescribedField {
  name: string;
  json: string;
  number: number;
  type?: string;
  map?: { key: string; value: string };
  repeated?: true;
  required?: true;
  optional?: true;
  oneof?: string;
  deprecated?: true;
}

export interface Descriptor {
  source: string;
  sha256: string;
  package: string;
  service: Record<string, { request: string; response: string; serverStreaming?: true }>;
  messages: Record<string, DescribedField[]>;
  enums: Record<string, Record<string, number>>;
}

/** The text of `fixtures/a2a-v1.0.1.descriptor.json` for the bytes of the pinned proto; refuses any other file. */
export function buildDescriptor(proto: Uint8Array): string {
  const sha256 = createHash('sha256').update(proto).digest('hex');
  if (sha256 !== PINNED_SHA256)
    throw new WrongProtoError(`sha256 is ${sha256}, not the pinned ${PINNED_SHA256}`);
  const source = 'specification/a2a.proto of a2aproject/A2A, tag v1.0.1';
  const descriptor: Descriptor = { source, sha256, ...describeProto(new TextDecoder().decode(proto)) };
  return `${JSON.stringify(descriptor, null, 1)}\n`;
}

/** The facts of a proto3 file with flat messages, as `a2a.proto` is. */
export function describeProto(text: string): Omit<Descriptor, 'source' | 'sha256'> {
  const code = text.replace(/\/\/.*$/gm, '');
  const service: Descriptor['service'] = {};
  for (const [, name, request, stream, response] of code.matchAll(
    /\brpc (\w+)\((\w+)\) returns \((stream )?([\w.]+)\)/g,
  )) {
    service[name!] = { request: request!, response: response!, ...(stream && { serverStreaming: true }) };
  }
  const messages: Descriptor['messages'] = {};
  for (const [, name, body] of code.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    messages[name!] = describeFields(body!);
  }
  const enums: Descriptor['enums'] = {};
  for (const [, name, body] of code.matchAll(/^enum (\w+) \{\n([\s\S]*?)^\}/gm)) {
    enums[name!] = Object.fromEntries(
      [...body!.matchAll(/(\w+) = (\d+);/g)].map(([, key, n]) => [key!, Number(n)]),
    );
  }
  return { package: /^package ([\w.]+);/m.exec(code)?.[1] ?? '', service, messages, enums };
}

const TOKEN =
  /oneof (?<group>\w+) \{|(?<close>\})|(?:(?<label>repeated|optional) )?(?:map<(?<key>\w+), (?<value>[\w.]+)>|(?<type>[\w.]+)) (?<name>\w+) = (?<number>\d+)(?<options> \[[^\]]*\])?;/g;

function describeFields(body: string): DescribedField[] {
  const fields: DescribedField[] = [];
  let oneof: string | undefined;
  for (const { groups } of body.matchAll(TOKEN)) {
    const { group, close, label, key, value, type, name, number, options = '' } = groups!;
    if (group || close) {
      oneof = group;
      continue;
    }
    fields.push({
      name: name!,
      json: name!.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      number: Number(number),
      ...(type ? { type } : { map: { key: key!, value: value! } }),
      ...(label === 'repeated' && { repeated: true as const }),
      ...(options.includes('REQUIRED') && { required: true as const }),
      ...(label === 'optional' && { optional: true as const }),
      ...(oneof && { oneof }),
      ...(options.includes('deprecated = true') && { deprecated: true as const }),
    });
  }
  return fields;
}

/** `node test/protocol/build-descriptor.ts <a2a.proto> > fixtures/a2a-v1.0.1.descriptor.json` */
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const path = process.argv[2];
  if (!path) throw new Error('usage: node test/protocol/build-descriptor.ts <path of a2a.proto>');
  process.stdout.write(buildDescriptor(readFileSync(path)));
}

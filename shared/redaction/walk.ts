import type { Artifact, JsonObject, JsonValue, Message, Part } from '../protocol/index.ts';
import { MAX_JSON_DEPTH } from '../protocol/index.ts';
import { kindOfName, type NameKind } from './names.ts';
import { type RedactionOptions, RedactionUnavailable, type Redactor } from './redactor.ts';
import { markerOf } from './spans.ts';

/** What is redacted together: one call of the redactor, whatever it holds. */
export interface Content {
  readonly messages: readonly Message[];
  readonly artifacts: readonly Artifact[];
}

/**
 * Redacted copies of messages and artifacts (design §7, P9); what was given stays as it is. Throws what the redactor
 * throws.
 *
 * Read as text: text parts, names, descriptions, file names, media types, and in `data` and `metadata` every string,
 * every name of a member (a name may hold an address as well as a value does) and every whole number of seven digits or
 * more, which becomes a string only if it was a finding. A member whose name says that it holds a secret loses every
 * string and number below it, whatever they look like; so does the `value` beside a `name` that says so. JSON below the
 * depth that the protocol allows is withheld.
 *
 * A `raw` part, which cannot be read, becomes a text part that names file and media type. So does a `url` part: such
 * links often carry a credential of their own, and what they lead to was not redacted.
 *
 * What an agent chose: an `artifactId` in which something is found becomes `artifact-<place>`, the same whenever the same
 * artifacts are redacted; extension URIs in which something is found are left out. Untouched is what the client chose
 * and needs back: `messageId`, `taskId`, `contextId`, `referenceTaskIds` and the extension URIs of its messages, also as
 * names in their metadata.
 */
export async function redactContent(
  content: Content,
  redactor: Redactor,
  options: RedactionOptions,
): Promise<{ readonly messages: Message[]; readonly artifacts: Artifact[] }> {
  const texts: string[] = [];
  visitContent(content, (text) => {
    texts.push(text);
    return text;
  });
  if (texts.length === 0) return visitContent(content, (text) => text);
  const redacted = await redactor.redactTexts(texts, options);
  if (redacted.length !== texts.length) throw new RedactionUnavailable('invalid-answer');
  // The same walk meets the texts in the same order.
  let next = 0;
  return visitContent(content, () => redacted[next++]!);
}

/** As `redactContent`, for one message. */
export async function redactMessage(
  message: Message,
  redactor: Redactor,
  options: RedactionOptions,
): Promise<Message> {
  return (await redactMessages([message], redactor, options))[0]!;
}

/** As `redactContent`, for messages alone. */
export async function redactMessages(
  messages: readonly Message[],
  redactor: Redactor,
  options: RedactionOptions,
): Promise<Message[]> {
  return (await redactContent({ messages, artifacts: [] }, redactor, options)).messages;
}

/** As `redactContent`, for artifacts alone. */
export async function redactArtifacts(
  artifacts: readonly Artifact[],
  redactor: Redactor,
  options: RedactionOptions,
): Promise<Artifact[]> {
  return (await redactContent({ messages: [], artifacts }, redactor, options)).artifacts;
}

/** Called for every text, in an order that depends on the content alone, never on an answer; answers what stands in its place. */
type Visit = (text: string) => string;

function visitContent(content: Content, visit: Visit): { messages: Message[]; artifacts: Artifact[] } {
  return {
    messages: content.messages.map((message) => visitMessage(message, visit)),
    artifacts: renameFound(
      content.artifacts,
      content.artifacts.map((artifact) => visitArtifact(artifact, visit)),
    ),
  };
}

function visitMessage({ parts, metadata, ...message }: Message, visit: Visit): Message {
  const { extensions, ...rest } = message;
  const kept = message.role === 'ROLE_USER' ? extensions : visitExtensions(extensions, visit);
  return {
    ...rest,
    ...(kept && { extensions: kept }),
    parts: parts.map((part) => visitPart(part, visit)),
    ...(metadata && { metadata: visitObject(metadata, visit, 1, kept) }),
  };
}

/** `artifactId` is as `visit` answered. */
function visitArtifact(
  { artifactId, name, description, parts, metadata, extensions, ...artifact }: Artifact,
  visit: Visit,
): Artifact {
  const kept = visitExtensions(extensions, visit);
  return {
    ...artifact,
    // The gateway's own ids hold nothing, whatever a detector would make of their digits.
    artifactId: UUID.test(artifactId) ? artifactId : visit(artifactId),
    ...(name !== undefined && { name: visit(name) }),
    ...(description !== undefined && { description: visit(description) }),
    ...(kept && { extensions: kept }),
    parts: parts.map((part) => visitPart(part, visit)),
    ...(metadata && { metadata: visitObject(metadata, visit, 1, kept) }),
  };
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** An id with a marker in it would be no id: two could become one. */
function renameFound(given: readonly Artifact[], visited: readonly Artifact[]): Artifact[] {
  const isFound = (index: number) => given[index]!.artifactId !== visited[index]!.artifactId;
  const taken = new Set(given.filter((_, index) => !isFound(index)).map(({ artifactId }) => artifactId));
  return visited.map((artifact, index) => {
    if (!isFound(index)) return artifact;
    let artifactId = `artifact-${index + 1}`;
    while (taken.has(artifactId)) artifactId += '-';
    taken.add(artifactId);
    return { ...artifact, artifactId };
  });
}

function visitExtensions(uris: readonly string[] | undefined, visit: Visit): string[] | undefined {
  const kept = uris?.filter((uri) => visit(uri) === uri);
  return kept?.length ? kept : undefined;
}

function visitPart(part: Part, visit: Visit): Part {
  const metadata = part.metadata && { metadata: visitObject(part.metadata, visit, 1) };
  if (part.raw !== undefined || part.url !== undefined) {
    return { text: visit(describeFile(part)), ...metadata };
  }
  const labels = {
    ...(part.filename !== undefined && { filename: visit(part.filename) }),
    ...(part.mediaType !== undefined && { mediaType: visit(part.mediaType) }),
    ...metadata,
  };
  if (part.text !== undefined) return { text: visit(part.text), ...labels };
  return { data: visitValue(part.data, visit, 1), ...labels };
}

function describeFile({ filename, mediaType }: Part): string {
  return `Not kept: file ${filename ?? 'without a name'} (${mediaType ?? 'media type unknown'})`;
}

function visitObject(
  object: JsonObject,
  visit: Visit,
  depth: number,
  extensions: readonly string[] = [],
  inherited?: NameKind,
): JsonObject {
  // Names that became alike are told apart by a number, or the later would replace the earlier.
  const seen = new Map<string, number>();
  const told = kindToldIn(object) ?? inherited;
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => {
      const read = visit(name);
      const visited = extensions.includes(name) ? name : read;
      let unique = visited;
      while (seen.has(unique)) {
        const number = seen.get(visited)! + 1;
        seen.set(visited, number);
        unique = `${visited} ${number}`;
      }
      seen.set(unique, 1);
      return [unique, visitValue(value, visit, depth + 1, kindOfMember(name, told, inherited))];
    }),
  );
}

/** `{"name": "DB_PASSWORD", "value": "…"}`: the kind of the value stands in a member beside it. */
function kindToldIn(object: JsonObject): NameKind | undefined {
  for (const name of TELLING) {
    const told = Object.hasOwn(object, name) ? object[name] : undefined;
    const kind = typeof told === 'string' ? kindOfName(told) : undefined;
    if (kind !== undefined && kind !== 'value') return kind;
  }
  return undefined;
}
const TELLING = ['name', 'key', 'field', 'label', 'type', 'header', 'param', 'id', 'Name', 'Key'];

/** All that stands below a secret is secret; what a telephone number holds is one where its name says no more. */
function kindOfMember(
  name: string,
  told: NameKind | undefined,
  inherited: NameKind | undefined,
): NameKind | undefined {
  if (inherited === 'secret') return 'secret';
  const kind = kindOfName(name);
  return kind === 'value' ? told : (kind ?? (inherited === 'tokens' ? inherited : undefined));
}

function visitValue(value: JsonValue, visit: Visit, depth: number, kind?: NameKind): JsonValue {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'object') {
    if (depth > MAX_JSON_DEPTH) return markerOf('TEXT');
    if (!Array.isArray(value)) return visitObject(value, visit, depth, [], kind);
    return value.map((element) => visitValue(element, visit, depth + 1, kind));
  }
  if (value === '') return value;
  if (kind === 'secret' || (kind === 'tokens' && typeof value === 'string')) return markerOf('SECRET');
  const text = String(value);
  if (kind === 'phone' && DIGITS.test(text)) return markerOf('PHONE');
  if (typeof value === 'string') return visit(value);
  if (!Number.isInteger(value) || Math.abs(value) < SEVEN_DIGITS) return value;
  const visited = visit(text);
  return visited === text ? value : visited;
}

/** As short as a telephone number gets with its area. */
const SEVEN_DIGITS = 1e6;
const DIGITS = /^\D{0,3}\d(?:\D{0,3}\d){5,14}\D{0,2}$/;

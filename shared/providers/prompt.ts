import type { FilePart, ModelMessage, TextPart } from 'ai';
import type { Message, Part } from '../protocol/index.ts';
import type { ProviderRequest } from './types.ts';

/** Media types that the supported model services take as files; anything else becomes text or a note. */
const FILE_TYPES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
]);

/**
 * The conversation as a model reads it: earlier messages of the context, then of the task, then what the message refers
 * to, then the message. Clients' messages are the user's, the agent's are the assistant's.
 *
 * Parts: text as text; data as JSON; images and PDFs of users as files; other raw parts as text where their media type
 * says text, else as a note of name, type and size; a url as its text, which nobody here fetches.
 */
export function buildPrompt(
  request: Pick<ProviderRequest, 'message' | 'history' | 'contextMessages' | 'references'>,
): ModelMessage[] {
  const earlier = [...request.contextMessages, ...request.history];
  // A bound may have cut the question off its answer, and some services refuse a conversation that begins with one.
  const first = earlier.findIndex((message) => message.role === 'ROLE_USER');
  const turns = first === -1 ? [] : earlier.slice(first).map(toTurn);
  const references = request.references.map(toReference);
  return [...turns, ...references, toTurn(request.message)].filter((turn) => turn !== undefined);
}

function toTurn(message: Message): ModelMessage | undefined {
  const content = toContent(message.parts);
  if (message.role === 'ROLE_USER') return user(content);
  // Services take files from users only.
  const texts = content.map((part) => (part.type === 'text' ? part : noteOf(part.mediaType, part.filename)));
  return texts.length === 0 ? undefined : { role: 'assistant', content: texts };
}

function toReference(reference: ProviderRequest['references'][number]): ModelMessage | undefined {
  const artifacts = reference.artifacts.flatMap(({ name, parts }): Part[] => [
    { text: `Artifact${name === undefined ? '' : ` "${name}"`}:` },
    ...parts,
  ]);
  const messages = reference.messages.flatMap(({ role, parts }): Part[] => [
    { text: role === 'ROLE_USER' ? 'User:' : 'Agent:' },
    ...parts,
  ]);
  return user(toContent([{ text: `Earlier task ${reference.task}.` }, ...messages, ...artifacts]));
}

function user(content: (TextPart | FilePart)[]): ModelMessage {
  // No service takes an empty or blank text.
  return { role: 'user', content: content.length === 0 ? [{ type: 'text', text: '(empty)' }] : content };
}

function toContent(parts: readonly Part[]): (TextPart | FilePart)[] {
  return parts.map(toPart).filter((part) => part.type !== 'text' || part.text.trim() !== '');
}

function toPart(part: Part): TextPart | FilePart {
  if (part.text !== undefined) return { type: 'text', text: part.text };
  if (part.url !== undefined)
    return { type: 'text', text: [part.filename, part.url].filter(Boolean).join(': ') };
  if (part.raw !== undefined) return rawPart(part.raw, part.mediaType, part.filename);
  return { type: 'text', text: JSON.stringify(part.data) };
}

function rawPart(
  base64: string,
  mediaType: string | undefined,
  filename: string | undefined,
): TextPart | FilePart {
  const type = mediaType?.split(';')[0]?.trim().toLowerCase();
  const bytes = Buffer.from(base64, 'base64');
  const name = filename === undefined ? {} : { filename };
  // Bytes, not the string: the AI SDK would take a string that looks like a URL for one, and fetch it.
  if (type !== undefined && FILE_TYPES.has(type) && bytes.byteLength > 0) {
    return { type: 'file', data: { type: 'data', data: new Uint8Array(bytes) }, mediaType: type, ...name };
  }
  if (type !== undefined && /^text\/|^application\/(?:.+\+)?(?:json|xml|yaml)$/.test(type)) {
    const label = filename === undefined ? '' : `${filename}:\n`;
    return { type: 'text', text: label + bytes.toString('utf8') };
  }
  return noteOf(type, filename, bytes.byteLength);
}

function noteOf(mediaType: string | undefined, filename: string | undefined, bytes?: number): TextPart {
  const facts = [filename, mediaType, bytes === undefined ? undefined : `${bytes} bytes`].filter(Boolean);
  return { type: 'text', text: `[file: ${facts.join(', ')}]` };
}

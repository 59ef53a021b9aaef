import { describe, expect, it } from 'vitest';
import { createCardPublisher, gatewayCard, matchesEtag } from '../../shared/cards/index.ts';
import { inputOf, memorySigner, settingsOf } from './samples.ts';

const BASE = 'https://agents.example.org';
const card = gatewayCard(inputOf());

describe('the entity tag of a card', () => {
  it('is the same on every instance, though each signs with other bytes', async () => {
    const signer = await memorySigner();
    const [one, two] = await Promise.all([
      createCardPublisher(signer).publish(card, BASE),
      createCardPublisher(signer).publish(gatewayCard(inputOf()), BASE),
    ]);
    expect(one.etag).toBe(two.etag);
    expect((await one.json())['signatures']).not.toEqual((await two.json())['signatures']);
    expect(one.etag).toMatch(/^W\/"[A-Za-z0-9_-]{43}"$/);
  });

  it('changes with the content, with the key, with the address and when signing is switched on', async () => {
    const other = gatewayCard(inputOf({ settings: settingsOf({ streaming: false }) }));
    const signer = await memorySigner();
    const published = await Promise.all([
      createCardPublisher(signer).publish(card, BASE),
      createCardPublisher(signer).publish(other, BASE),
      createCardPublisher(signer).publish(card, 'https://other.example.org'),
      createCardPublisher(await memorySigner()).publish(card, BASE),
      createCardPublisher().publish(card, BASE),
    ]);
    expect(new Set(published.map(({ etag }) => etag)).size).toBe(5);
  });

  it.each([
    ['W/"abc"', true],
    ['"abc"', true],
    ['*', true],
    [' * ', true],
    ['"x", W/"abc" ,"y"', true],
    ['"x","a,b",W/"abc"', true],
    ['"x"', false],
    ['W/"abcd"', false],
    ['abc', false],
    ['', false],
    [undefined, false],
  ])('is compared weakly with If-None-Match %s: %s', (ifNoneMatch, matches) => {
    expect(matchesEtag(ifNoneMatch, 'W/"abc"')).toBe(matches);
  });
});

describe('a published card', () => {
  it('has no signatures without a key', async () => {
    const { json } = await createCardPublisher().publish(card, BASE);
    expect(await json()).not.toHaveProperty('signatures');
  });

  it('is signed once per content, also when many ask at once', async () => {
    const signer = await memorySigner();
    const publisher = createCardPublisher(signer);
    const ask = async () => (await publisher.publish(card, BASE)).json();
    await Promise.all(Array.from({ length: 20 }, ask));
    await ask();
    expect(signer.signed).toBe(2); // Two canonical forms.
  });

  it('is not signed to say that a copy is still good', async () => {
    const signer = await memorySigner();
    await createCardPublisher(signer).publish(card, BASE);
    expect(signer.signed).toBe(0);
  });

  it('is signed again after a failure', async () => {
    const signer = await memorySigner();
    const publisher = createCardPublisher(signer);
    signer.failing = true;
    await expect((await publisher.publish(card, BASE)).json()).rejects.toThrow();
    signer.failing = false;
    expect(await (await publisher.publish(card, BASE)).json()).toHaveProperty('signatures');
  });

  it('takes bounded room: the one not asked for longest is forgotten', async () => {
    const signer = await memorySigner();
    const publisher = createCardPublisher(signer, 2);
    const ask = async (name: string) => {
      const content = gatewayCard(inputOf({ settings: settingsOf({ gatewayName: name }) }));
      return (await publisher.publish(content, BASE)).json();
    };
    for (const name of ['a', 'b', 'c', 'b', 'c']) await ask(name);
    expect(signer.signed).toBe(6);
    await ask('a');
    expect(signer.signed).toBe(8);
  });
});

import { delegateThroughFrost } from './harness/delegation-suite.ts';

delegateThroughFrost({ pair: ['reconciler'], question: ['reconciler'] });

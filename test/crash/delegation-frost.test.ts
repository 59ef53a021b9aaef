import { delegateThroughFrost } from './harness/delegation-suite.ts';

const workers = ['reconciler', 'callback', 'executor'];

delegateThroughFrost({ embedded: workers, separate: workers, canceledLate: ['reconciler', 'callback'] });

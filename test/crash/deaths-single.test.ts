import { surviveDeath } from './harness/suite.ts';

const accepted = { from: 'accepted' } as const;

surviveDeath({ create: {}, immediate: accepted, cancel: accepted, tooLarge: accepted });

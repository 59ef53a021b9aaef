import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ silence: 'changes' });

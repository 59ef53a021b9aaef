/** A function provider (contract version 1): runs on Lambda as it stands, and under `npm start -- --function`. */
export async function handler({ message }) {
  const said = message.parts.map((part) => part.text ?? '').join(' ');
  const order = /\b[A-Z]-\d{4}\b/.exec(said)?.[0];
  if (order === undefined) return { question: 'Which order? Its number looks like A-1234.' };
  if (order.startsWith('X-')) return { rejection: 'Orders of shop X are refunded by shop X.' };
  return {
    progress: [`Looking up ${order}.`],
    artifacts: [
      { name: 'letter', text: `Order ${order} is refunded.` },
      { name: 'booking', data: { order, amount: '25.00', currency: 'EUR' } },
    ],
    message: 'The refund is booked.',
  };
}

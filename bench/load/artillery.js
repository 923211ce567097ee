// How long the users of artillery.yml go on: as many seconds as SECONDS says.
const end = Date.now() + 1000 * Number(process.env.SECONDS);

module.exports = {
  goesOn: (context, next) => next(Date.now() < end),
};

"""The acquirer's wallet in the hand of a test."""

from types import SimpleNamespace

from small_task import Softmax

from martfl.chain.state import SignedCommit
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.offers import offer_of
from martfl.market.sealing import SealingKey
from martfl.market.settling import Delivery, Share
from martfl.market.steps import Shown


class Hand:
    """The acquirer's wallet in the hand of a test: every message and every call that it could make, in any order."""

    def __init__(self, market):
        self.market, self.trading, self.account = market, market.trading, market.buyer
        self.sealing = SealingKey.generate()

    def say(self, message, i=0, *, account=None, place=None):
        """What provider `i` answers to a request."""
        place = place or self.market.place
        request = wire.encode(message, market=place, account=account or self.account)
        return wire.decode(self.market.link.handlers[self.market.names[i]](request), market=self.market.place)[0]

    def open(self, amount=None):
        """The next epoch; its number."""
        amount = self.market.terms.money.deposit if amount is None else amount
        return self.trading.new_epoch(amount=amount, account=self.account).epoch

    def train(self, epoch=1, *, providers=None, base=None):
        """Everybody trains on the model of epoch `base`; their signed commitments."""
        base = self.trading.read_epoch(epoch).base if base is None else base
        request = ms.TrainRequest(epoch=epoch, body=self.file(base))
        chosen = range(len(self.market.providers)) if providers is None else providers
        replies = {i: self.say(request, i) for i in chosen}
        parts = {i: (bytes.fromhex(r.digest), bytes.fromhex(r.signature)) for i, r in replies.items()}
        return [SignedCommit(provider=self.market.names[i], digest=d, signature=s) for i, (d, s) in parts.items()]

    def file(self, epoch):
        if epoch == 0:
            return self.market.settler.first_file(Softmax().initial())
        return self.files[epoch]

    files = property(lambda self: self.__dict__.setdefault("_files", {}))

    def relay(self, entries, epoch=1):
        return self.trading.commit_models(epoch, entries=entries, account=self.account)

    def close_commitments(self, epoch=1):
        self.market.travel_to(self.market.times(epoch).commit + 1)

    def begin(self, epoch=1, *, providers=None):
        """An epoch that takes no commitments any more, with everybody in it."""
        assert self.open() == epoch
        self.relay(self.train(epoch, providers=providers), epoch)
        self.close_commitments(epoch)
        return self

    def offer(self, i, epoch=1):
        answer = self.say(ms.OfferRequest(epoch=epoch), i)
        parts = {"commitment": answer.body.hex(), "root": answer.root, "key_hash": answer.key_hash}
        return offer_of(self.market.names[i], Shown(**parts, ask=int(answer.ask)))

    def sealed(self, i, epoch=1):
        answer = self.say(ms.SealedRequest(epoch=epoch, key=self.sealing.public.hex()), i)
        return self.sealing.open(answer.body, context=self._context(i, epoch, "update"))

    def buy(self, *numbers, epoch=1):
        self.bought = {i: (self.offer(i, epoch), self.sealed(i, epoch)) for i in numbers}
        offers = [offer for offer, _ in self.bought.values()]
        return self.trading.buy(epoch, offers=offers, account=self.account)

    def ask_key(self, i, epoch=1):
        """The reply to a request for a key: the key, or the refusal."""
        answer = self.say(ms.KeyRequest(epoch=epoch, key=self.sealing.public.hex()), i)
        if isinstance(answer, ms.Refusal):
            return answer
        return self.sealing.open(answer.body, context=self._context(i, epoch, "key"))

    def publish(self, weights, epoch=1):
        """Publish what `weights` (number → integer) make of what was bought; keys are asked for."""
        shares = {}
        for i, weight in weights.items():
            (offer, body), secret = self.bought[i], self.ask_key(i, epoch)
            values = self.market.settler.open_sealed(body, secret)
            shares[self.market.names[i]] = Share(Delivery(offer, body, secret, values), weight)
        base = self.file(self.trading.read_epoch(epoch).base)
        self.files[epoch] = self.market.settler.aggregate(base, shares, epoch=epoch)
        act = SimpleNamespace(trading=self.trading, account=self.account, epoch=epoch, key=lambda step: None)
        return self.market.settler.publish(act, self.files[epoch], shares)

    def _context(self, i, epoch, what):
        return self.market.place.context(epoch, self.market.names[i], what)

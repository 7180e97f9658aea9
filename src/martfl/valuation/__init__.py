"""How much an update is worth: shares of the reward, and so weights of the aggregate. Pure: arrays in, arrays out."""

from martfl.valuation.account import Account, SellerRecord, pack_account, unpack_account
from martfl.valuation.combine import combine
from martfl.valuation.common import Common, find_common
from martfl.valuation.information import Information, Sale, Worth
from martfl.valuation.pay import pay
from martfl.valuation.strategy import Both, ByValue
from martfl.valuation.survey import Focus, Valued, value_updates
from martfl.valuation.words import Appraisal, appraisals, brief, brief_share, statement

__all__ = [
    "Account",
    "Appraisal",
    "Both",
    "ByValue",
    "Common",
    "Focus",
    "Information",
    "Sale",
    "SellerRecord",
    "Valued",
    "Worth",
    "appraisals",
    "brief",
    "brief_share",
    "combine",
    "find_common",
    "pack_account",
    "pay",
    "statement",
    "unpack_account",
    "value_updates",
]

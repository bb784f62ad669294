# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model`: fitted communication models, predictions, and the algorithms they price."""

import Postgres

/// Messages that a user has deleted for themselves, for statements that are not in a file yet.
enum HiddenMessages {
    static func isNone(at seq: String, slot: String, conversation: String, reader: String) -> String {
        SQLNames.store.sql(
            "is_not_hidden", ["seq": seq, "slot": slot, "conversation": conversation, "reader": reader])
    }
}

/// The keys, for the screen and for `--help`.
package enum HelpText {
    package static let keys = """
        Anywhere     Ctrl-F search   Ctrl-N new conversation   Ctrl-G members and title   Ctrl-O settings
                     Ctrl-Q quit     Ctrl-R connect now        Ctrl-L draw anew           F1 help
                     Ctrl-T send a file   Ctrl-P what is pinned    Ctrl-S send what is written at a time, and what waits
                     Ctrl-V send what is written as a poll: a question, and each option in a line of its own
        List         ↑ ↓ choose, Enter opens, n new, / search, s settings, Tab back to writing,
                     p pin (▴), m mute (∅), a archive, u mark as unread (●),
                     b block the other of a direct conversation (⊘), each again: not any more,
                     A shows the archive, R what people ask you whom you do not know, each again: the list
        A request    a accept, d decline, b block, ↑ selects a message, Esc back to the list
        Writing      Enter sends, Ctrl-J or Alt-Enter begins a line, Esc cancels a reply or an edit,
                     ↑ selects a message, PgUp PgDn scroll, End goes to the newest, Tab goes to the list
        A message    r reply, e edit, t tapback, d delete, s save a file of it, p go to what it answers,
                     f forward it, F without the name of who wrote it,
                     o vote in a poll, by number, again: not any more, O close it,
                     P pin it for everybody, again: take it down, v what it said before, Enter details,
                     @ go to the next unread one that mentions you, R or r send again what failed, x give it up,
                     ! report it to those who run the service, Esc back to writing
        Members      a add, i invite by a link (Ctrl-N takes one), e title, m make an admin or a member, o make an owner or a member, x remove,
                     p who may add, rename and write, u who was removed and who may come back, w who asks to join,
                     b block, ! report, l leave, r read receipts here,
                     d take a conversation off the list that has ended for you, Esc back
        Settings     ↑ ↓ choose, Enter changes one, or ends the block of somebody, e what you are called,
                     v your devices: x ends one, o all others
        """
}

import Bus
import Bytes
import Models
import Reactor
import Slots
import Wire

/// Tells the bus what was committed: once per change, encoded once, to whoever listens. Nothing depends on it arriving;
/// the digest brings up what was lost.
@Reactor
final class Announcer {
    private let bus: Bus
    private let slots: OwnedSlots

    init(bus: Bus, slots: OwnedSlots) {
        self.bus = bus
        self.slots = slots
    }

    func announce(_ item: SendItem, _ created: SendStatement.Created) {
        announce(
            ChangeFields(
                conversation: item.conversation, seq: created.seq, kind: .messageCreated, at: created.createdAt,
                actor: item.sender, content: .message(MessageFields(item, created))))
    }

    func announce(_ creation: CreateConversation, at: Timestamp, _ joined: [CreateStatement.Joined]) {
        let content = ChangeFields.Content.conversation(
            kind: creation.kind, title: creation.title.isEmpty ? nil : creation.title, createdAt: at,
            memberCount: joined.count)
        // First: a session that hears of the conversation by then takes its first change as any other.
        for member in joined { announceJoining(member, creation.conversation) }
        announce(
            ChangeFields(
                conversation: creation.conversation, seq: 1, kind: .conversationCreated, at: at,
                actor: creation.creator,
                content: content))
    }

    private func announce(_ change: ChangeFields) {
        let slot = change.conversation.slot
        bus.append(to: .change(slot.group)) { buffer in
            ChangeEntry.write(change.conversation, seq: change.seq, change.kind, to: &buffer) { $0.append(change) }
        }
        slots.note(StreamPosition(.conversation(change.conversation), change.seq), in: slot)
    }

    private func announceJoining(_ member: CreateStatement.Joined, _ conversation: ConversationID) {
        let change = PrivateChangeFields(
            useq: member.useq, kind: .conversationJoined, at: member.at, conversation: conversation, lastSeq: 0)
        bus.append(to: .privateChange(member.user.slot.group)) { buffer in
            PrivateEntry.write(member.user, useq: member.useq, change.kind, conversation, seq: 0, to: &buffer) {
                $0.append(change)
            }
        }
        slots.note(StreamPosition(.user(member.user), member.useq), in: conversation.slot)
    }
}

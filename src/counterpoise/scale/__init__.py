"""Many rows: tables of answers, folders of parts, streams, other machines; the same bytes however they are cut."""

from counterpoise.scale.answer_table import explain_table
from counterpoise.scale.folder_report import report_folder
from counterpoise.scale.many_machines import explain
from counterpoise.scale.part_folder import explain_to_folder, read_folder

__all__ = ["explain", "explain_table", "explain_to_folder", "read_folder", "report_folder"]
